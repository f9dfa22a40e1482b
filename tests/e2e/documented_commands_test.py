"""Every shell command in the README and the documents runs in a test, or is listed here with the reason why not.

The commands on one machine run here, on the README's own job.yaml; those of a cluster in kubernetes_readme_test.py."""

import json
import os
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("CAPSTAN_BIN", ROOT / "build/dev/bin")).resolve()
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "helm/capstan/README.md", *sorted((ROOT / "docs").glob("*.md"))]
COMMAND = re.compile(r"^    (?:\./|capstan |kubectl |helm |docker |cmake |ninja |ctest |eval |python3 -m capstan_ps)")

HERE = "runs in this test"
CLUSTER = "runs in kubernetes_readme_test.py"
DOCUMENTED_PROGRAMS = "tests/python/documented_programs_test.py"
TLS_FILES = ("tls.crt", "tls.key", "ca.crt")
# Every command, as it stands there, and what runs it. "not run" needs a reason.
COMMANDS = {
    "README.md": {
        "./deploy/quickstart": "not run: installs packages and builds everything; its second half is `capstan train`",
        "./tests/run": "not run: it is what runs this test",
        "helm install ctr helm/capstan -f deploy/examples/criteo-deepfm/values.yaml": CLUSTER,
        "kubectl scale deployment/ctr-worker --replicas=6": CLUSTER,
        "kubectl scale statefulset/ctr-ps --replicas=4": CLUSTER,
        "kubectl delete pod ctr-ps-0": CLUSTER,
        "capstan status --kubernetes ctr": CLUSTER,
        "capstan status --kubernetes ctr --watch --wait=600": CLUSTER,
        'docker export "$(docker create capstan/cli:0.1.0)" | deploy/unpack-capstan ~/.local/capstan':
            "unpack_test.py runs what is behind docker",
        "capstan train job.yaml --shards 2 --workers 3 --set train.epochs=2": HERE,
        "capstan top": HERE,
        "capstan status out/ctr": HERE,
        "capstan stop --reason 'good enough'": "runs in tests/cli/stop_command_test.cc",
        "capstan config check job.yaml": HERE,
        "capstan plan job.yaml --workers 100 --shards 10 --step-seconds .3": HERE,
        "capstan evaluate MODEL test.csv": HERE,
        "capstan predict MODEL test.csv": HERE,
        "capstan serve out/ctr --port 8080": "runs in serve_test.py, on a port that is free",
        "capstan checkpoint list out/ctr/checkpoints": HERE,
        "capstan checkpoint export MODEL folder": HERE,
        "capstan data generate data/clicks": HERE,
        'eval "$(capstan completion bash)"': HERE,
        "cmake -S . -B build/release -G Ninja -DCAPSTAN_BUILD_TESTS=OFF -DCAPSTAN_BUILD_BENCHMARKS=OFF":
            "not run: tests/run builds the same with tests",
        "cmake --build build/release": "not run: tests/run builds the same with tests",
        "cmake --install build/release --prefix ~/.local/capstan": "extensions/installed_test.py installs to a prefix of its own",
    },
    "CONTRIBUTING.md": {
        "./tests/run --quick": "not run: it is what runs this test",
        "./tests/run": "not run: it is what runs this test",
        "./tests/fuzz/run 60": "not run: a minute a fuzzer; tests/run replays what they have found",
        "cmake -S . -B build/dev -G Ninja": "not run: tests/run does it before this test",
        "ninja -C build/dev unit_store && build/dev/tests/unit_store": "not run: tests/run builds and runs it",
        "ctest --test-dir build/dev -L unit -j 4": "not run: it is what runs this test",
        "helm push out/capstan-0.1.0.tgz oci://registry.example.com/charts":
            "not run: the registry is the user's; tests/helm/oci_test.py pushes to one of its own",
        "helm install ctr oci://registry.example.com/charts/capstan --version 0.1.0 -f values.yaml":
            "not run: the registry is the user's; tests/helm/oci_test.py renders the chart from one of its own",
    },
    "helm/capstan/README.md": {
        "helm install ctr helm/capstan -f deploy/examples/criteo-deepfm/values.yaml": CLUSTER,
        "kubectl scale deployment/ctr-worker --replicas=6": CLUSTER,
        "capstan status --kubernetes ctr --watch --wait=600": CLUSTER,
        "kubectl wait --for=jsonpath='{.status.conditions[0].status}'=True job -l capstan/wait=ctr --timeout=30m":
            "runs in kubernetes_test.py, of a job that completes, one that fails, and one that is replaced",
        "kubectl get job -l capstan/wait=ctr -o jsonpath='{.items[*].status.conditions[*].type}'":
            "runs in kubernetes_test.py",
        "helm install ctr helm/capstan --set-file job=job.yaml": "rendered by tests/helm/chart_sets_test.py (set job-text)",
    },
    "docs/plan.md": {
        "capstan plan job.yaml --measure --save-rates rates --workers 10 --shards 2 --network 10Gbit": "runs in plan_test.py",
    },
    "docs/python.md": {
        "capstan train deploy/examples/python/deepfm.yaml --worker 'python3 deploy/examples/python/deepfm.py' --shards 2 --workers 2":
            "tests/python/training_test.py",
        "capstan train deploy/examples/python/factorization_machine.yaml --worker 'python3 deploy/examples/python/factorization_machine.py'":
            "tests/python/numpy_test.py",
        "capstan train photos.yaml --worker 'python3 photos.py' --shards 2 --workers 2": DOCUMENTED_PROGRAMS,
        "python3 -m capstan_ps.predict capstan-runs/jobs/photos photos/test --program photos.py": DOCUMENTED_PROGRAMS,
        "capstan train likes.yaml --worker 'python3 likes.py' --shards 2 --workers 2": DOCUMENTED_PROGRAMS,
        "python3 -m capstan_ps.predict out/ctr test.csv --program deepfm.py": "runs in tests/python/user_program_test.py",
        "python3 -m capstan_ps.export out/ctr/checkpoints/976-1 model --program deepfm.py": "runs in tests/python/user_program_test.py",
        r"helm install ctr helm/capstan -f values.yaml --set-file 'worker.code.deepfm\.py=deploy/examples/python/deepfm.py'":
            "rendered by tests/helm/program_test.py; kubernetes_python_test.py installs one like it",
        "helm install ctr helm/capstan -f values.yaml --set worker.image.repository=team/model --set worker.image.tag=v7":
            "rendered by tests/helm/program_test.py",
        "kubectl apply --filename deploy/examples/notebook/pod.yaml": "kubernetes_notebook_test.py applies that pod, with its own image",
        "kubectl exec --stdin --tty notebook -- /usr/bin/python3": "kubernetes_notebook_test.py, without a terminal",
        "kubectl scale deployment/ctr-worker --replicas=3": "not run: kubernetes_readme_test.py scales the same Deployment",
        "kubectl logs -l app.kubernetes.io/instance=ctr,app.kubernetes.io/component=worker --prefix --follow": "not run: it does not end",
        "kubectl get pods --output=jsonpath='{.items[*].status.containerStatuses[*].lastState.terminated.message}'":
            "kubernetes_python_test.py reads the message of a program that fails",
    },
    "docs/tls.md": {
        "helm upgrade ctr ... --set tls.enabled=true --set tls.issuer.name=capstan-authority":
            "rendered by tests/helm/chart_sets_test.py (set tls)",
        "helm install ctr ... --set tls.enabled=true --set tls.issuer.name=capstan-authority":
            "rendered by tests/helm/chart_sets_test.py (set tls)",
        "kubectl scale statefulset/ctr-ps --replicas=0": "not run: kubernetes_readme_test.py scales the same StatefulSet",
        "kubectl wait --for=delete pod -l app.kubernetes.io/instance=ctr,app.kubernetes.io/component=ps --timeout=2m":
            "not run: it waits for what the command before it has deleted",
        "kubectl create secret generic ctr-chief-tls --from-file=tls.crt --from-file=tls.key --from-file=ca.crt":
            "not run: the secrets that it makes are the user's; rendered by tests/helm/chart_sets_test.py (set mtls)",
        **{f"kubectl get secret ctr-client-tls --output=go-template='{{{{index .data \"{file}\" | base64decode}}}}' > reader/{file}":
               "runs in this test, where there is kubectl, of a secret that it prints itself" for file in TLS_FILES},
        "capstan train job.yaml --tls .": HERE,
    },
    "docs/checkpoints.md": {
        "capstan train finetune.yaml --from out/ctr/checkpoints/976-1": "runs in resume_test.py, by the chief's own flag",
        "capstan checkpoint export out/ctr/checkpoints/976-1 model": HERE,
        "capstan predict model test.csv": HERE,
    },
    "docs/datasets.md": {
        "capstan train deploy/examples/a9a-lr.yaml": "runs in quality_test.py",
    },
    "docs/serve.md": {
        "capstan serve out/visits --port 8080": "runs in serve_test.py, on a port that is free",
        "capstan serve out/likes --program 'python3 recommender.py'": "runs in tests/python/serve_test.py, on a port that is free",
        "helm upgrade ctr helm/capstan --reset-then-reuse-values --set serve.enabled=true":
            "kubernetes_test.py installs a release that serves; rendered by tests/helm/chart_serve_test.py",
        "kubectl port-forward service/ctr-serve 8080:80": "not run: it does not end; kubernetes_test.py asks the same Service",
    },
    "docs/export.md": {
        "capstan checkpoint export out/ctr/checkpoints/976-1 model --python": "runs in export_test.py",
        "capstan checkpoint export out/ctr/checkpoints/976-1 model --python --onnx": "runs in export_test.py",
        "python3 -m capstan_ps.export out/ctr/checkpoints/976-1 model --program deepfm.py": "runs in tests/python/user_program_test.py",
    },
}


def commands(page):
    """The page's commands without their comments."""
    return [re.sub(r"\s{2,}#.*", "", line).strip() for line in page.read_text().splitlines() if COMMAND.match(line)]


def block(page, heading, number=0):
    """The text of an indented block below a heading, without its indentation."""
    section, = (one for one in re.split(r"(?m)^## ", page.read_text()) if one.startswith(heading + "\n"))
    found = re.findall(r"(?m)(?:^    .+\n)+", section)[number]
    return "\n".join(line[4:] for line in found.splitlines()) + "\n"


class DocumentedCommandsTest(unittest.TestCase):
    maxDiff = None

    def test_every_command_is_listed_with_what_runs_it(self):
        found = {str(page.relative_to(ROOT)): set(commands(page)) for page in PAGES}
        self.assertEqual({page: lines for page, lines in found.items() if lines},
                         {page: set(lines) for page, lines in COMMANDS.items()})

    def test_the_commands_do_on_one_machine_what_the_pages_say(self):
        readme, checkpoints = ROOT / "README.md", ROOT / "docs/checkpoints.md"
        with tempfile.TemporaryDirectory() as folder:
            self.folder = pathlib.Path(folder)
            self.shell("capstan data generate data/clicks", " --rows 3000 --eval-rows 500")
            (self.folder / "job.yaml").write_text(block(readme, "Write a job.yaml"))
            (self.folder / "test.csv").symlink_to("data/clicks/test.csv")
            self.assertIn("tasks", self.shell("capstan config check job.yaml"))
            self.assertIn("bottleneck", self.shell("capstan plan job.yaml --workers 100 --shards 10 --step-seconds .3"))
            self.shell("capstan train job.yaml --shards 2 --workers 3 --set train.epochs=2",
                       " --set checkpoint.uri=out --set model.hidden=[8]")
            listed = self.shell("capstan checkpoint list out/ctr/checkpoints")
            model, = (self.folder / "out/ctr/checkpoints").iterdir()
            self.assertIn(model.name, listed)
            self.assertIn("completed", self.shell("capstan status out/ctr"))
            self.assertIn("auc", self.shell("capstan evaluate MODEL test.csv", model=model).lower())
            scores = self.shell("capstan predict MODEL test.csv", model=model).splitlines()
            self.assertEqual(len(scores), 500)
            self.shell("capstan checkpoint export MODEL folder", model=model)
            self.shell("capstan checkpoint export out/ctr/checkpoints/976-1 model", names={"976-1": model.name})
            self.assertEqual(self.shell("capstan predict model test.csv").splitlines(), scores)
            self.read_as_documented(checkpoints)
            self.certify_as_documented(ROOT / "docs/tls.md")
            self.watch_a_job()
            self.shell('eval "$(capstan completion bash)"', " && complete -p capstan")

    def certify_as_documented(self, page):
        """The authority and the certificate of the page, and a training with them."""
        lines = block(page, "By hand").splitlines()
        done = subprocess.run(["bash", "-euc", "\n".join(line for line in lines if not COMMAND.match("    " + line))],
                              cwd=self.folder, capture_output=True, text=True, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.shell("capstan train job.yaml --tls .", " --fresh --set checkpoint.uri=out --set model.hidden=[8]")

    @unittest.skipUnless(shutil.which("kubectl"), "no kubectl")
    def test_a_readers_certificate_is_written_into_a_folder_out_of_its_secret(self):
        lines = block(ROOT / "docs/tls.md", "On Kubernetes", 2)
        self.assertEqual(lines.count("kubectl get secret ctr-client-tls "), len(TLS_FILES))
        with tempfile.TemporaryDirectory() as folder:
            for name in TLS_FILES:
                (pathlib.Path(folder) / name).write_text(f"{name}\nof a reader\n")
            secret = " ".join(("kubectl create secret generic ctr-client-tls --dry-run=client", *(f"--from-file={name}" for name in TLS_FILES)))
            done = subprocess.run(["bash", "-euc", lines.replace("kubectl get secret ctr-client-tls", secret)], cwd=folder,
                                  capture_output=True, text=True, timeout=60, check=False)
            self.assertEqual((done.returncode, done.stderr), (0, ""))
            reader = pathlib.Path(folder) / "reader"
            self.assertEqual({path.name: path.read_text() for path in reader.iterdir()},
                             {name: f"{name}\nof a reader\n" for name in TLS_FILES})
            self.assertEqual((reader / "tls.key").stat().st_mode & 0o077, 0, "others may read the key")

    def watch_a_job(self):
        """`capstan top` beside a training that goes on; without a terminal it writes lines, news before them."""
        def trains():  # Until its chief listens, what is told is the job that was stored before.
            asked = subprocess.run([BIN / "capstan", "status", "--json"], cwd=self.folder, capture_output=True, text=True,
                                   timeout=60, check=False)
            status = json.loads(asked.stdout) if asked.returncode == 0 else {"state": ""}
            return status["state"] == "JOB_STATE_RUNNING" and int(status["examples"]) > 0

        beside = {"cwd": self.folder, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        with subprocess.Popen([BIN / "capstan", "train", "job.yaml", "--set", "train.epochs=1000", "--fresh",
                               "--set", "checkpoint.uri=out", "--set", "model.hidden=[8]"], **beside) as train:
            try:
                while not trains():
                    self.assertIsNone(train.poll())
                with subprocess.Popen([BIN / "capstan", *"top".split()], **beside) as top:
                    self.assertIn("running", next((line for line in top.stdout if "%" in line), "no line with %"))
                    top.terminate()
            finally:
                train.terminate()

    def shell(self, command, more="", model=None, names=None):
        """Runs a command of the list, with what makes it quick behind it and names of this run put in; its output."""
        self.assertIn(HERE, [lines.get(command) for lines in COMMANDS.values()], command)
        for name, value in {"MODEL": str(model), **(names or {})}.items():
            command = command.replace(name, value)
        done = subprocess.run(["bash", "-c", command + more], cwd=self.folder, capture_output=True, text=True,
                              timeout=240, env={**os.environ, "PATH": f"{BIN}:{os.environ['PATH']}"})
        self.assertEqual(done.returncode, 0, f"{command}{more}: {done.stdout[-1500:]}{done.stderr[-1500:]}")
        return done.stdout

    def read_as_documented(self, page):
        try:
            import numpy
        except ImportError:
            # The rest is still tried.
            self.addCleanup(self.skipTest, "no numpy: the Python lines of docs/checkpoints.md were not tried")
            return
        names = {"json": json, "struct": struct, "numpy": numpy}
        exec(block(page, "Take a model elsewhere", 1), names)  # pylint: disable=exec-used
        tensors = names["load"](self.folder / "model/model.safetensors")
        keys = [name for name in tensors if name.endswith(".keys")]
        self.assertTrue(keys)
        for name in keys:
            self.assertEqual(len(tensors[name]), len(tensors[name.replace(".keys", ".weights")]))


if __name__ == "__main__":
    unittest.main(verbosity=2)
