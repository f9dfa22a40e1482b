"""Workers in NumPy: real processes on loopback, in which no PyTorch can be imported, beside PyTorch."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
from python_data import CLICKS, EXAMPLES, LIKES, PYTHON, ROOT, SYNC, skip_if_lacking, write_likes

if __name__ == "__main__":
    skip_if_lacking()

sys.path[:0] = [os.environ["PYTHONPATH"], str(EXAMPLES)]
import numpy as np  # noqa: E402

import capstan_ps  # noqa: E402
import capstan_ps.numpy as cn  # noqa: E402
import factorization_machine  # noqa: E402
from crew import run_to_end  # noqa: E402
from model_server import CAPSTAN, Server, column, columns_of  # noqa: E402
from python_crew import PythonCrew  # noqa: E402

PROGRAM = ROOT / "tests/python/numpy_program.py"
DESCENT = "optimizer={sparse: {kind: sgd, learning_rate: 0.3}, dense: {kind: sgd, learning_rate: 0.3}}"
PARTS = {"features", "bias"}


class NumpyTest(unittest.TestCase):

    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="capstan-numpy-")
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        os.environ["CAPSTAN"] = str(CAPSTAN)

    def kept(self, crew, name):
        return shutil.copytree(crew.manifest().parent, self.folder / name)

    def crew(self, job, example="factorization_machine", **more):
        return PythonCrew(job, example=example, program="numpy_program.py", **more)

    def trained(self, name, crew):
        with crew:
            crew.wait()
            return self.kept(crew, name)

    def assert_equal(self, one, other, parts=PARTS):
        code, said = run_to_end("capstan", "checkpoint", "diff", one, other)
        self.assertEqual(code, 0, said)
        found = {line.split()[0]: [int(n.replace(",", "")) for n in line.split()[2:7]] for line in said.splitlines()[1:]}
        self.assertEqual(set(found), parts)
        for part, (common, *changes) in found.items():
            self.assertGreater(common, 0, part)
            self.assertEqual(changes, [0, 0, 0, 0], part)

    def assert_alike(self, one, other, begun=None):
        """Two checkpoints hold the same model, as exactly as float32 computes it, which is not that of `begun`."""
        one, other = capstan_ps.load(one), capstan_ps.load(other)
        self.assertEqual(set(one.parameters()), set(other.parameters()))
        for name, values in one.parameters().items():
            np.testing.assert_allclose(values, other.parameters()[name], rtol=0, atol=1e-5, err_msg=name)
            if begun is not None:
                self.assertGreater(np.abs(values - begun[name]).max(), 0.01, f"{name} has learned")
        self.assertEqual(set(one.tables), set(other.tables))
        for name, table in one.tables.items():
            np.testing.assert_array_equal(table.keys, other.tables[name].keys)
            np.testing.assert_allclose(table.rows(table.keys), other.tables[name].rows(table.keys), rtol=0, atol=1e-5, err_msg=name)

    # ---- what comes out ----

    def test_bits_depend_neither_on_who_works_nor_on_who_dies(self):
        job = CLICKS % (8000, "user: factorization_machine.py") + SYNC
        one = self.trained("one", self.crew(job, workers=1, name="one"))
        self.assert_equal(one, self.trained("two", self.crew(job, workers=2, shards=1, name="two")))
        with self.crew(job, workers=3, name="killed", environment={"PACE": "0.05"}) as crew:
            crew.until_examples(2000)
            crew.kill("worker-1")
            crew.wait()
            self.assert_equal(one, self.kept(crew, "killed"))

    def test_running_tensors_are_the_mean_of_the_lanes_and_frozen_ones_stay(self):
        job, parts = CLICKS % (4000, "user: factorization_machine.py") + SYNC, PARTS | {"fixed", "rate"}
        one, two = (self.trained(name, self.crew(job, workers=workers, shards=1, name=name, environment={"ROLES": "1"}))
                    for name, workers in (("one", 1), ("two", 2)))
        self.assert_equal(one, two, parts)
        found = capstan_ps.load(one).parameters()
        self.assertEqual(found["fixed"].tolist(), [0, 1, 2])
        self.assertTrue(0.05 < found["rate"][0] < 0.5, f"of the records {found['rate']} are clicks")

    def test_features_bags_and_weights_of_records_learn_what_pytorch_learns(self):
        for name, count, seed in (("train", 3000, 1), ("test", 500, 2)):
            path = self.folder / f"{name}.csv"
            write_likes(path, count, seed)
            head, *lines = path.read_text().splitlines()
            path.write_text("\n".join([f"{head},worth", *(f"{line},{1 + place % 3}" for place, line in enumerate(lines))]) + "\n")
        job = LIKES % (self.folder / "train.csv", self.folder / "test.csv") + SYNC
        job = job.replace(", optimizer: {kind: adagrad, learning_rate: 0.5}", "")
        overrides = ["train.epochs=2", "data.schema.weight=worth", DESCENT]
        with PythonCrew(job, example="recommender", workers=2, name="torch", overrides=overrides) as crew:
            crew.wait()
            expected, loss = self.kept(crew, "torch"), dict(crew.last.evaluations[-1].metrics)
            begun = capstan_ps.load(next(crew.folder.glob("model/*/initial/*"))).parameters()
        np.savez(self.folder / "initial.npz", **begun)
        with self.crew(job, "numpy_recommender", workers=2, name="numpy", overrides=overrides,
                       environment={"INITIAL": str(self.folder / "initial.npz")}) as crew:
            crew.wait()
            self.assert_alike(expected, self.kept(crew, "numpy"), begun)
            for metric, value in crew.last.evaluations[-1].metrics.items():
                self.assertAlmostEqual(value, loss[metric], delta=1e-4, msg=metric)

    def test_the_documented_command_trains_the_documented_program_and_the_model_is_served(self):
        page = (ROOT / "docs/python.md").read_text()
        command = next(line.strip() for line in page.splitlines() if line.startswith("    capstan train ") and "factorization" in line)
        (self.folder / "deploy").symlink_to(ROOT / "deploy")
        small = f" --set data.synthetic.train_rows=6000 --set data.synthetic.eval_rows=2000 --set '{DESCENT}' --set train.epochs=1"
        small += " --set 'update={sparse: {policy: sync, lanes: 4}, dense: {policy: sync, lanes: 4}}'"
        done = subprocess.run(command + small + " --plain --run-dir run", shell=True, cwd=self.folder, capture_output=True, text=True, timeout=120,
                              env={**os.environ, "PATH": f"/usr/bin:{CAPSTAN.resolve().parent}:{os.environ['PATH']}"})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        program = (EXAMPLES / "factorization_machine.py").read_text()
        told = page[page.index("import capstan_ps.numpy as cn"):].partition("```")[0]
        self.assertIn(told[told.index("def build"):told.index("cn.train")].strip(), program)
        job, = self.folder.glob("run/model/*")
        with Server(job, "--program", f"{PYTHON} {PROGRAM} factorization_machine") as server:
            found, = job.rglob(server.version)
            model = capstan_ps.load(found)
            lines = [",".join(f"v{(i * k) % 17}" for k in range(1, model.job.fields + 1)) for i in range(20)]
            scores = columns_of(server.infer(column("records", lines)))["score"]
        expected = factorization_machine.predict(model.parameters(), model.batch(lines, cn.Batch))
        np.testing.assert_allclose(scores, 1 / (1 + np.exp(-expected)), atol=1e-6)
        self.assertGreater(len(set(scores)), 10)

        with PythonCrew((EXAMPLES / "factorization_machine.yaml").read_text(), example="torch_machine", workers=1, name="torch", overrides=[
                "data.synthetic.train_rows=6000", "data.synthetic.eval_rows=2000", DESCENT, "train.epochs=1",
                "update={sparse: {policy: sync, lanes: 4}, dense: {policy: sync, lanes: 4}}"]) as crew:
            crew.wait()
            self.assert_alike(self.kept(crew, "torch"), found, model_begins(model))

    # ---- what goes wrong ----

    def test_what_step_gives_that_does_not_fit_is_told_in_its_words(self):
        job = CLICKS % (1000, "user: factorization_machine.py") + SYNC
        with self.crew(job, workers=1, name="mistake", environment={"MISTAKE": "losses, ({'bias': np.zeros(2)}, {})"}) as crew:
            self.assertEqual(crew.end_of("worker-0"), 3)
            self.assertRegex(crew.log("worker-0").splitlines()[-1],
                             r"^capstan_ps: numpy_program.py:\d+: ValueError: the gradient of tensor bias is made of floats in its shape, "
                             r"\[1\], and is \[2\] of float64$")

    def test_a_program_without_a_step_is_refused(self):
        program = self.folder / "model.py"
        program.write_text("import sys\nsys.path.insert(0, %r)\nimport numpy as np\nimport capstan_ps.numpy as cn\n"
                           "cn.train(lambda job: {'w': np.zeros(1, np.float32)}, None, lambda *_: None)\n" % os.environ["PYTHONPATH"])
        with self.crew(CLICKS % (1000, "user: model.py"), workers=0, name="no-step") as crew:
            variables = {"CAPSTAN_CHIEF": crew.address, "CAPSTAN_HOST": "127.0.0.1", "CAPSTAN_HEALTH_PORT": "0", "CAPSTAN_METRICS_PORT": "0"}
            for before, after, said in (("None,", "None,", "train() was given no step, which gives one loss an example"),
                                        ("float32", "float64", "w is an array of float64; expected float32: w.astype(numpy.float32)")):
                program.write_text(program.read_text().replace(before, after))
                done = subprocess.run([PYTHON, program], capture_output=True, text=True, env={**os.environ, **variables}, timeout=60, check=False)
                self.assertEqual(done.returncode, 2, done.stderr)
                self.assertEqual(done.stderr.splitlines()[-1], f"capstan_ps: {said}")


def model_begins(model):
    return {name: np.zeros_like(values) for name, values in model.parameters().items()}


if __name__ == "__main__":
    unittest.main(verbosity=2)
