"""`capstan serve --program`: a model of one's own answers with what the program computes in its own process, goes over to newer versions, and
comes back when the program has died."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.error

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
from python_data import CLICKS, EXAMPLES, LIKES, PYTHON, ROOT, SYNC, job_of_images, skip_if_lacking, write_likes

if __name__ == "__main__":
    skip_if_lacking()

sys.path[:0] = [os.environ["PYTHONPATH"], str(EXAMPLES)]
import torch  # noqa: E402

import capstan_ps  # noqa: E402
from model_server import CAPSTAN, Server, column, columns_of  # noqa: E402

# A program that fails as the price says.
MOODY = f"""
import os, sys, time
sys.path.insert(0, {str(EXAMPLES)!r})
import capstan_ps.torch as ct
from recommender import Recommender, step


def predict(model, batch):
    assert batch.labels is None and batch.weights is None
    prices = batch.numbers[:, 0].tolist()
    if 101 in prices:
        raise ValueError("this price is not\\nto my taste")
    if 102 in prices:
        os._exit(7)
    if 103 in prices:
        time.sleep(600)
    return model(batch)[:-1] if 104 in prices else model(batch)


ct.train(Recommender, step, predict)
"""


def program(example):
    return f"{PYTHON} {ROOT}/tests/python/program.py {example}"


class ServeTest(unittest.TestCase):

    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="capstan-serve-")
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        os.environ["CAPSTAN"] = str(CAPSTAN)

    def train(self, job, example, epochs=1):
        """The job's folder."""
        (self.folder / "job.yaml").write_text(job)
        done = subprocess.run([CAPSTAN, "train", "job.yaml", "--plain", "--shards", "2", "--workers", "1", "--run-dir", "run", "--worker",
                               program(example), "--set", f"train.epochs={epochs}"], cwd=self.folder, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=120)
        self.assertEqual(done.returncode, 0, done.stdout[-2000:])
        folder, = self.folder.glob("run/model/*")
        return folder

    def likes(self, epochs=1):
        for name, count, seed in (("train", 2000, 1), ("test", 300, 2)):  # Of the latter some users are new.
            if not (self.folder / f"{name}.csv").exists():
                write_likes(self.folder / f"{name}.csv", count, seed)
        return self.train(LIKES % (self.folder / "train.csv", self.folder / "test.csv") + SYNC, "recommender", epochs)

    def moody(self):
        (self.folder / "moody.py").write_text(MOODY)
        return f"{PYTHON} {self.folder}/moody.py"

    def loaded(self, job, version, build):
        """The model and its module as capstan_ps.load gives them to any program."""
        found, = job.rglob(version)
        model = capstan_ps.load(found)
        return model, model.torch(build)

    def assert_scores(self, found, expected):
        self.assertEqual(len(found), len(expected))
        for one, other in zip(found, expected, strict=True):
            self.assertAlmostEqual(one, other, delta=1e-6)

    def test_scores_are_those_of_the_module_and_newer_versions_take_their_place(self):
        from recommender import Recommender
        job = self.likes()
        lines = (self.folder / "test.csv").read_text().splitlines()[1:]
        with Server(job, "--program", program("recommender"), "--processes", "2", "--every", "0.2") as server:
            def check():
                """The version that has answered."""
                answer = server.infer(column("records", lines))
                model, net = self.loaded(job, answer["model_version"], Recommender)
                with torch.no_grad():
                    expected = net(model.batch(lines)).sigmoid().tolist()
                self.assert_scores(columns_of(answer)["score"], expected)
                self.assertGreater(len(set(expected)), 200)
                return answer["model_version"]
            first = check()
            self.assertEqual(first, server.version)

            # By columns, in any order, each cell as the file has it; and by none.
            cells = dict(zip(("item", "clicked", "user_id", "price", "city"), list(zip(*(line.split(",")[1:6] for line in lines)))))
            by_columns = server.infer(*(column(name, list(cells[name])) for name in sorted(cells)))
            self.assertEqual(columns_of(by_columns), columns_of(server.infer(column("records", lines))))
            self.assertEqual(columns_of(server.infer(column("records", []))), {"score": []})
            about = json.loads(server.get("/v2/models/likes"))
            self.assertEqual([one["name"] for one in about["inputs"]], ["records", "city", "clicked", "item", "price", "user_id"])

            failures, over = [], threading.Event()

            def ask():
                while not over.is_set():
                    try:
                        server.infer(column("records", lines[:5]))
                    except OSError as error:
                        failures.append(error)
            asking = threading.Thread(target=ask)
            asking.start()
            try:
                self.likes(epochs=2)
                server.line_with(f"serving likes, version {self.newest(job)}")
                self.assertNotEqual(check(), first)
            finally:
                over.set()
                asking.join()
            self.assertEqual(failures, [])
            until = time.monotonic() + 10
            while len(self.children(server.process.pid)) > 2:
                self.assertLess(time.monotonic(), until, "those of the version before have ended")
                time.sleep(0.05)
            server.process.send_signal(signal.SIGTERM)
            self.assertEqual(server.process.wait(20), 0)

    @staticmethod
    def newest(job):
        return max(path.name for path in (job / "checkpoints").iterdir() if path.is_dir())

    def answered(self, server, line):
        """The scores, as soon as there are any again."""
        until = time.monotonic() + 60
        while True:
            try:
                return columns_of(server.infer(column("records", [line])))["score"]
            except urllib.error.HTTPError as error:
                with error:
                    self.assertIn(error.code, (503, 504))  # 504: on a machine that is busy with much else.
            self.assertLess(time.monotonic(), until, server.lines)
            time.sleep(0.05)

    def test_a_program_that_fails_dies_or_hangs_is_told_and_comes_back(self):
        job = self.likes()
        with Server(job, "--program", self.moody(), "--timeout", "6") as server:
            infer = "/v2/models/likes/infer"
            good = "1,5|6,7,0.5,Bern,2"
            expected = self.answered(server, good)

            def refusal(*inputs):
                return server.refusal(infer, json.dumps({"inputs": inputs}).encode())
            self.assertEqual(refusal(column("records", [good.replace("0.5", "101")])),
                             (500, "moody.py:12: ValueError: this price is not to my taste"))
            code, said = refusal(column("records", [good, good.replace("0.5", "104")]))
            self.assertEqual(code, 500)
            self.assertRegex(said, r"ValueError: predict gives one logit an example, a tensor of \[2\], and gave \[1\]$")
            code, said = refusal(column("item", ["1"]))
            self.assertEqual((code, said.partition(";")[0]), (400, 'input "city" is missing'))
            code, said = refusal(column("records", [good.replace(",7,", ",x,")]))
            self.assertEqual((code, "record 0: " in said), (400, True), said)
            self.assertEqual(self.answered(server, good), expected)
            self.assertEqual([line for line in server.lines if "is started again" in line], [], "none of these has ended it")

            self.assertEqual(refusal(column("records", [good.replace("0.5", "102")])),
                             (503, "the program has ended with this request, and is started again"))
            self.assertEqual(self.answered(server, good), expected)
            server.line_with("the program has ended with exit code 7, and is started again")

            self.assertEqual(refusal(column("records", [good.replace("0.5", "103")])),
                             (504, "the program has not answered for 6s, and is started again"))
            self.assertEqual(self.answered(server, good), expected)
            server.line_with("the program does not answer, and is started again")

            # One that is killed while nobody asks it: not ready until there is another one.
            child, = self.children(server.process.pid)
            os.kill(child, signal.SIGKILL)
            until = time.monotonic() + 30
            with self.assertRaisesRegex(urllib.error.HTTPError, "503"):
                while time.monotonic() < until:
                    server.get("/v2/health/ready")
            server.line_with("the program has ended with signal 9 (Killed), and is started again")
            self.assertEqual(self.answered(server, good), expected)
            json.loads(server.get("/v2/health/ready"))

    @staticmethod
    def children(parent):
        """The processes that a process has started, but for those that guard what these start."""
        found = []
        for stat in pathlib.Path("/proc").glob("[0-9]*/stat"):
            try:
                name, _, rest = stat.read_text().rpartition(") ")
                command = (stat.parent / "cmdline").read_text()
            except OSError:  # It has ended.
                continue
            if int(rest.split()[1]) == parent and "capstan-guard" not in command:
                found.append(int(name.split()[0]))
        return found

    def refused(self, job, *arguments, **environment):
        done = subprocess.run([CAPSTAN, "serve", job, "--port", "0", *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              timeout=60, env={**os.environ, **environment})
        self.assertEqual(done.returncode, 2, done.stdout)
        return done.stdout

    def test_a_program_that_does_not_serve_this_model_is_refused_with_the_reason(self):
        job = self.likes()
        self.assertIn("computed by the user's own program, recommender.py; say how it is started, as with --program 'python3 recommender.py'\n",
                      self.refused(job))
        self.assertIn("capstan: further.bias: the program has a tensor of [1], and the model no such tensor\n",
                      self.refused(job, "--program", program("recommender"), WIDTH="1"))
        self.assertIn("capstan: the program has ended with exit code 3 before it had the model; its output says why\n",
                      self.refused(job, "--program", "sh -c 'echo no torch here; exit 3'"))
        done = subprocess.run([CAPSTAN, "predict", job, self.folder / "test.csv"], capture_output=True, text=True, timeout=60, check=False)
        self.assertEqual(done.returncode, 2, done.stderr)
        self.assertIn("computed by the user's own program, recommender.py, and not by capstan; "
                      "`python3 -m capstan_ps.predict MODEL DATA --program recommender.py` writes its scores", done.stderr)
        (self.folder / "silent.py").write_text(MOODY.replace("step, predict)", "step)"))
        self.assertIn("capstan: train() was given no predict", self.refused(job, "--program", f"{PYTHON} {self.folder}/silent.py"))
        (self.folder / "broken.py").write_text("import nothing_of_this_name\n")
        said = self.refused(job, "--program", f"{PYTHON} {self.folder}/broken.py")
        self.assertIn("ModuleNotFoundError: No module named 'nothing_of_this_name'", said)
        self.assertIn("capstan: the program has ended with exit code 1 before it had the model", said)

    def test_images_and_records_without_features(self):
        from cnn import build
        from deepfm import DeepFM
        job = self.train(job_of_images(self.folder) + SYNC, "cnn")
        raw = (self.folder / "test-images-idx3-ubyte").read_bytes()[16:16 + 5 * 64]
        with Server(job, "--program", program("cnn")) as server:
            answer = server.infer({"name": "pixels", "datatype": "UINT8", "shape": [5, 64], "data": list(raw)})
            model, net = self.loaded(job, server.version, build)
        with torch.no_grad():
            expected = net(next(iter(model.batches(self.folder / "test-images-idx3-ubyte"))).images[:5]).softmax(1)
        self.assertEqual(answer["outputs"][0]["shape"], [5, 3])
        self.assert_scores(columns_of(answer)["probabilities"], expected.flatten().tolist())

        self.folder = self.folder / "clicks"
        self.folder.mkdir()
        job = self.train(CLICKS % (2000, "user: deepfm.py") + SYNC, "deepfm")
        with Server(job, "--program", program("deepfm")) as server:
            model, net = self.loaded(job, server.version, DeepFM)
            lines = [",".join(f"v{(i * k) % 17}" for k in range(1, model.job.fields + 1)) for i in range(20)]
            found = columns_of(server.infer(column("records", lines)))["score"]
        with torch.no_grad():
            self.assert_scores(found, net(model.batch(lines)).sigmoid().tolist())


if __name__ == "__main__":
    unittest.main(verbosity=2)
