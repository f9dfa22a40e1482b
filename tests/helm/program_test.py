"""The chart with workers that are a program of the user's: worker.code, worker.command and worker.image."""

import json
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))
from chart import CHART, HELM, JOB, ROOT, objects, of_kind, require_helm, template, values_of

import yaml

EXAMPLES = ROOT / "deploy" / "examples" / "python"
MODEL = ("--set-file", f"job={EXAMPLES / 'deepfm.yaml'}")
CODE = ("--set-file", f"worker.code.deepfm\\.py={EXAMPLES / 'deepfm.py'}")
# Of a worker's container, all that a program of the user's leaves as it is.
ALIKE = ("name", "imagePullPolicy", "terminationMessagePolicy", "ports", "startupProbe", "livenessProbe", "readinessProbe",
         "resources", "securityContext")


def worker(found):
    deployment, = of_kind(found, "Deployment")
    return deployment["spec"]["template"]


def container(found):
    return worker(found)["spec"]["containers"][0]


def environment(found):
    return {one["name"]: one.get("value") for one in container(found)["env"]}


def mounts(found):
    """{path: (volume, whether it is read-only)}"""
    return {one["mountPath"]: (one["name"], one.get("readOnly", False)) for one in container(found)["volumeMounts"]}


def code_of(found):
    """The release's ConfigMaps with code: {name: files}."""
    return {one["metadata"]["name"]: one["data"] for one in of_kind(found, "ConfigMap", "worker")}


class ProgramTest(unittest.TestCase):

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def values(self, **worker_values):
        """A job whose model is the user's, with these values of the worker. Each time another file: renders are kept by name."""
        job = {"data": {"format": "synthetic", "synthetic": {"train_rows": 1000}}, "model": {"user": "model.py"}}
        path = self.folder / f"{len(list(self.folder.iterdir()))}.yaml"
        path.write_text(yaml.safe_dump({"job": job, "worker": worker_values}))
        return "--values", path

    def test_texts_have_the_same_hashes_in_each_worker(self):
        self.assertEqual(environment(objects(*MODEL, *CODE)).get("PYTHONHASHSEED"), "0")

    def test_threads_of_a_step_sleep_while_they_have_nothing_to_do(self):
        self.assertEqual(environment(objects(*MODEL, *CODE)).get("OMP_WAIT_POLICY"), "passive")

    def refused(self, reason, *arguments):
        with self.assertRaises(ValueError) as refusal:
            template(*arguments)
        self.assertIn(reason, str(refusal.exception))

    def test_a_file_is_the_program_and_all_else_is_as_for_capstans_workers(self):
        own, ours = objects(*MODEL, *CODE), objects()
        self.assertEqual(code_of(own), {"ctr-code": {"deepfm.py": (EXAMPLES / "deepfm.py").read_text()}})
        self.assertEqual(code_of(ours), {})
        one = container(own)
        self.assertEqual({key: one[key] for key in ALIKE}, {key: container(ours)[key] for key in ALIKE})
        pods = [worker(found)["spec"] for found in (own, ours)]
        self.assertEqual(*({key: value for key, value in pod.items() if key not in ("containers", "volumes")} for pod in pods))
        self.assertEqual((one["command"], one["workingDir"]), (["python3", "/app/deepfm.py"], "/app"))
        self.assertNotIn("args", one)
        self.assertTrue(one["image"].startswith("capstan/torch:"), one["image"])
        self.assertEqual(mounts(own), {"/app": ("code", True), "/tmp": ("tmp", False)})
        self.assertEqual(worker(own)["spec"]["volumes"], [
            {"name": "code", "configMap": {"name": "ctr-code", "defaultMode": 0o444}}, {"name": "tmp", "emptyDir": {}}])

    def test_its_environment_says_what_flags_say_to_capstans_workers(self):
        own, ours = environment(objects(*MODEL, *CODE)), container(objects())["args"]
        for variable, flag in (("CAPSTAN_CHIEF", "chief"), ("CAPSTAN_CHIEF_DEADLINE", "chief-deadline"), ("CAPSTAN_NAME", "name"), ("CAPSTAN_DRAIN", "drain"),
                               ("CAPSTAN_LOG_FORMAT", "log-format")):
            self.assertIn(f"--{flag}={own[variable]}", ours)
        self.assertEqual(len(ours), 5)
        read = (ROOT / "python" / "capstan_ps" / "worker.py").read_text()
        for variable in own:
            self.assertTrue(not variable.startswith("CAPSTAN_") or f'"{variable}"' in read, variable)

    def test_a_program_has_the_keys_the_certificates_and_the_data_that_capstans_workers_have(self):
        more = ("--set", "s3.existingSecret=keys", "--set", "s3.workerSecret=reader", "--set", "tls.enabled=true",
                "--set", "tls.issuer.name=ca", "--set", "data.volume.hostPath.path=/d", "--set", "serviceAccount.worker.create=true")
        own, ours = objects(*MODEL, *CODE, *more), objects(*more)
        self.assertEqual(worker(own)["spec"]["serviceAccountName"], "ctr-worker")
        self.assertEqual({path: mount for path, mount in mounts(own).items() if path not in ("/app", "/tmp")}, mounts(ours))
        self.assertLessEqual(environment(ours).items(), environment(own).items())

    def test_another_text_replaces_the_workers_and_the_same_does_not(self):
        def annotations(*values):
            return worker(objects(*values))["metadata"]["annotations"]
        first, other = ({"model.py": text} for text in ("import a\n", "import b\n"))
        one = annotations(*self.values(code=first))
        self.assertEqual(one, annotations(*self.values(code=first), "--set", "ps.replicas=3"))
        self.assertNotEqual(one["checksum/code"], annotations(*self.values(code=other))["checksum/code"])
        self.assertNotIn("checksum/code", annotations(*self.values(code="theirs")))

    def test_code_arrives_byte_by_byte(self):
        texts = {"model.py": "a = 'x'  \n\tb\n\n", "end.py": "no_end = 1", "empty.py": "", "dos.py": "a\r\nb\r\n",
                 "words.py": "# жук {{ .Values.job }}\n", "yaml.txt": "- a: [b\n'\"#\n", "lead.py": "\n  x\n"}
        self.assertEqual(code_of(objects(*self.values(code=texts)))["ctr-code"], texts)
        for name, text in texts.items():
            (self.folder / name).write_text(text, newline="")
        files = [word for name in texts for word in ("--set-file", f"worker.code.{name.replace('.', chr(92) + '.')}={self.folder / name}")]
        self.assertEqual(code_of(objects(*self.values(), *files))["ctr-code"], texts)

    def test_null_takes_a_file_out(self):
        base = self.values(code={"model.py": "a", "old.py": "b"})
        over = self.folder / "over.yaml"
        over.write_text("worker: {code: {old.py: null}}")
        self.assertEqual(code_of(objects(*base, "--values", over)), {"ctr-code": {"model.py": "a"}})

    def test_the_program_is_the_only_file_or_that_of_the_job_or_what_the_command_says(self):
        two = {"model.py": "a", "layers.py": "b"}
        self.assertEqual(container(objects(*self.values(code={"main.py": ""})))["command"], ["python3", "/app/main.py"])
        self.assertEqual(container(objects(*self.values(code=two)))["command"], ["python3", "/app/model.py"])
        self.assertEqual(container(objects(*self.values(code="theirs")))["command"], ["python3", "/app/model.py"])
        said = container(objects(*self.values(code=two, command=["python3", "-m", "layers"], extraArgs=["--wide"])))
        self.assertEqual((said["command"], said["args"]), (["python3", "-m", "layers"], ["--wide"]))

    def test_a_config_map_that_exists_is_mounted_and_none_is_made(self):
        found = objects(*self.values(code="our-models.v3"))
        self.assertEqual(code_of(found), {})
        self.assertIn({"name": "code", "configMap": {"name": "our-models.v3", "defaultMode": 0o444}},
                      worker(found)["spec"]["volumes"])

    def test_an_image_of_ones_own_starts_as_it_says_and_follows_registry_and_digest(self):
        def image(*more, **of_image):
            return container(objects(*self.values(image=of_image), *more))["image"]
        one = container(objects(*self.values(image={"repository": "team/model", "tag": "7"})))
        self.assertEqual((one["image"], one.get("command"), one.get("args"), one.get("workingDir")), ("team/model:7", None, None, None))
        self.assertEqual(image(registry="r.example.com", repository="m", tag="7"), "r.example.com/m:7")
        self.assertEqual(image("--set", "image.registry=q.example.com", repository="m", tag="7"), "q.example.com/m:7")
        self.assertEqual(image("--set", "global.imageRegistry=g.example.com/", registry="r", repository="m", tag="7"), "g.example.com/m:7")
        digest = "sha256:" + 64 * "a"
        self.assertEqual(image(repository="m", tag="7", digest=digest), f"m@{digest}")
        ours = container(objects(*self.values(command=["python3", "/data/model.py"]), "--set", f"image.digests.torch={digest}"))
        self.assertEqual(ours["image"], f"capstan/torch@{digest}")

    def test_a_volume_of_ones_own_may_be_tmp(self):
        own = {"extraVolumes": [{"name": "big", "emptyDir": {}}], "extraVolumeMounts": [{"name": "big", "mountPath": "/tmp/"}]}
        self.assertEqual(mounts(objects(*self.values(code={"model.py": ""}, **own))), {"/app": ("code", True), "/tmp/": ("big", False)})

    def test_what_cannot_start_is_refused_with_a_reason(self):
        self.refused("job.model.user: deepfm.py: workers do not have it", *MODEL)
        self.refused("are for a model of your own; say so in the job", "--values", JOB, *CODE)
        self.refused("worker.image.tag: is not set", *self.values(image={"repository": "m"}))
        self.refused("worker.image.repository: is not set", *self.values(code={"model.py": ""}, image={"tag": "3"}))
        self.refused("which file of worker.code is the program?", *self.values(code={"a.py": "", "b.py": ""}))
        self.refused("is no name of a file in a ConfigMap", *self.values(code={"lib/a.py": ""}))
        self.refused("neither a map of files nor the name of a ConfigMap", *self.values(),
                     "--set-file", f"worker.code={EXAMPLES / 'deepfm.py'}")
        self.refused("its files have 1048577 bytes", *self.values(code={"model.py": "é" * (1 << 19), "b.py": "b"}))
        template(*self.values(code={"model.py": "é" * (1 << 19)}))
        self.refused("tag", *self.values(image={"repository": "m", "tag": "latest"}))
        self.refused("reposit0ry", *self.values(image={"reposit0ry": "m"}))

    def test_the_documented_commands_and_values_make_a_release(self):
        page = (ROOT / "docs" / "python.md").read_text().split("## On Kubernetes")[1].split("\n## ")[0]
        (self.folder / "values.yaml").write_text(re.search(r"(?m)^    job:\n(?:    .*\n)+", page).group())
        (self.folder / "deploy").symlink_to(ROOT / "deploy")
        installs = re.findall(r"(?m)^    helm (install .*)$", page)
        self.assertEqual(len(installs), 2)
        found = []
        for command in installs:
            command = command.replace("install", "template", 1).replace("helm/capstan", str(CHART))
            done = subprocess.run(f"{HELM} {command}", shell=True, cwd=self.folder, capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            found.append([one for one in yaml.safe_load_all(done.stdout) if one])
        self.assertEqual(code_of(found[0]), {"ctr-code": {"deepfm.py": (EXAMPLES / "deepfm.py").read_text()}})
        self.assertEqual(container(found[0])["command"], ["python3", "/app/deepfm.py"])
        self.assertEqual(container(found[1])["image"], "team/model:v7")

    def test_the_notes_tell_what_workers_run_and_where_their_words_are(self):
        holder = json.dumps('{kind: Text, metadata: {name: notes}, text: {{ include "capstan.notes" . | toJson }}}')
        notes, = of_kind(objects(*MODEL, *CODE, "--set-json", f"extraObjects=[{holder}]"), "Text")
        self.assertIn("Workers run deepfm.py in capstan/torch:", notes["text"])
        commands = re.findall(r"(?m)^  (kubectl .*component=worker --prefix --follow|kubectl .*terminated.message.*)$", notes["text"])
        self.assertEqual(len(commands), 2, notes["text"])
        for command in commands:
            self.assertEqual(subprocess.run(["bash", "-n", "-c", command]).returncode, 0, command)

    def test_a_program_is_reached_by_the_same_policies_and_monitors(self):
        for kind in ("NetworkPolicy", "PodMonitor", "Service"):
            switches = ("--set", "networkPolicy.enabled=true", "--set", "monitoring.podMonitor.enabled=true")
            self.assertEqual(*(of_kind(objects(*values, *switches), kind) for values in
                               (("--values", values_of("python")), ("--values", values_of("minimal")))))


if __name__ == "__main__":
    require_helm()
    unittest.main(verbosity=2)
