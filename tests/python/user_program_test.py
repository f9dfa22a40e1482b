"""`python3 -m capstan_ps.predict` and `python3 -m capstan_ps.export`: the scores and the files of a trained program of one's own, a command each."""

import math
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
import onnx_runtime
from python_data import CLICKS, EXAMPLES, LIKES, PYTHON, ROOT, SYNC, job_of_images, skip_if_lacking, write_likes

if __name__ == "__main__":
    skip_if_lacking()

sys.path[:0] = [os.environ["PYTHONPATH"], str(EXAMPLES)]
import numpy as np  # noqa: E402
import torch  # noqa: E402
from torch import nn  # noqa: E402

import capstan_ps  # noqa: E402
from crew import BINARIES, run_to_end  # noqa: E402
from python_crew import PythonCrew  # noqa: E402


class UserProgramTest(unittest.TestCase):

    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="capstan-program-")
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        os.environ["CAPSTAN"] = str(BINARIES / "capstan")

    def trained(self, job, example, **more):
        """The checkpoint of the finished job, and what its last evaluation said."""
        with PythonCrew(job, example=example, workers=1, shards=1, name=example, **more) as crew:
            crew.wait()
            return shutil.copytree(crew.manifest().parent, self.folder / "checkpoint"), crew.last.evaluations[-1].metrics

    def run_module(self, name, *words, expect=0):
        done = subprocess.run([PYTHON, "-m", f"capstan_ps.{name}", *map(str, words)], cwd=self.folder, capture_output=True, text=True,
                              timeout=120, check=False)
        self.assertEqual(done.returncode, expect, done.stdout[-500:] + done.stderr[-1500:])
        return done.stderr if expect else done.stdout

    def likes(self):
        for name, count, seed in (("train", 2000, 1), ("test", 500, 2)):
            write_likes(self.folder / f"{name}.csv", count, seed)
        return self.trained(LIKES.replace("epochs: 6", "epochs: 2") % (self.folder / "train.csv", self.folder / "test.csv") + SYNC, "recommender")

    def test_a_program_of_pytorch_is_predicted_exported_and_refused_with_the_reason(self):
        checkpoint, said = self.likes()
        scores = self.run_module("predict", checkpoint, "test.csv", "--program", EXAMPLES / "recommender.py")
        found = [float(line) for line in scores.splitlines()]
        labels = [line.startswith("1") for line in (self.folder / "test.csv").read_text().splitlines()[1:]]
        losses = [-math.log(score if label else 1 - score) for score, label in zip(found, labels, strict=True)]
        self.assertAlmostEqual(sum(losses) / len(losses), said["logloss"], 5)

        told = self.run_module("export", checkpoint, "out/model", "--program", EXAMPLES / "recommender.py")
        self.assertEqual(told, "out/model: job.json, model.onnx, model.pt, model.safetensors\n")
        code, of_command = run_to_end("capstan", "checkpoint", "export", checkpoint, self.folder / "plain")
        self.assertEqual(code, 0, of_command)
        for name in ("job.json", "model.safetensors"):
            self.assertEqual((self.folder / "out/model" / name).read_bytes(), (self.folder / "plain" / name).read_bytes(), name)
        self.assertEqual([path.name for path in (self.folder / "out").iterdir()], ["model"], "nothing is left beside it")
        self.assertEqual(self.run_module("predict", "out/model", "test.csv", "--program", EXAMPLES / "recommender.py"), scores)
        self.check_hashes(checkpoint, scores)
        self.check_in_pytorch_alone(found)
        self.check_in_onnx_runtime(found)

        told = self.run_module("export", checkpoint, "small", "--program", EXAMPLES / "recommender.py", "--most-rows", 100, "--no-onnx")
        users = len(capstan_ps.load(self.folder / "plain").tables["user"].keys)
        self.assertEqual(told, "small: job.json, model.pt, model.safetensors\n"
                               f"model.pt lacks table user: {users} rows, more than --most-rows 100; model.safetensors has them\n")
        self.assertEqual(set(torch.load(self.folder / "small/model.pt")["tables"]), {"item", "city"})
        self.check_that_only_exports_are_replaced(checkpoint)
        self.check_refusals(checkpoint)

    def check_hashes(self, checkpoint, scores):
        """A program that goes over a set of texts finds the order that it had in training, for which `capstan train` sets the seed 0."""
        (self.folder / "set.py").write_text(f"import sys\nsys.path.insert(0, {str(EXAMPLES)!r})\nimport capstan_ps.torch as ct\n"
                                            "from recommender import Recommender, predict\n"
                                            "open('hashes', 'a').write(f'{hash(\"user\")}\\n')\nct.train(Recommender, None, predict)\n")
        self.assertNotIn("PYTHONHASHSEED", os.environ)
        self.assertEqual(self.run_module("predict", checkpoint, "test.csv", "--program", "set.py"), scores)
        self.run_module("export", checkpoint, "of-set", "--program", "set.py", "--no-onnx")
        trained = subprocess.run([PYTHON, "-c", "print(hash('user'))"], env={"PYTHONHASHSEED": "0"}, capture_output=True, text=True, check=True)
        self.assertEqual((self.folder / "hashes").read_text(), trained.stdout * 2)

    def check_that_only_exports_are_replaced(self, checkpoint):
        """The folder of an export is another one's whole: no graph and no module of the model before stays. Files of others are not touched."""
        folder, program = self.folder / "out/model", EXAMPLES / "recommender.py"
        (folder / "README").write_text("mine")
        self.assertEqual(self.run_module("export", checkpoint, folder, "--program", program, "--no-onnx"),
                         f"{folder}: job.json, model.pt, model.safetensors\n")
        self.assertEqual(sorted(path.name for path in folder.iterdir()), ["README", "job.json", "model.pt", "model.safetensors"])
        code, said = run_to_end("capstan", "checkpoint", "export", checkpoint, folder)
        self.assertEqual((code, (folder / "model.pt").exists()), (0, False), said)
        for name in ("job.json", "model.pt", "model.onnx"):
            mine = self.folder / f"of {name}" / name
            mine.parent.mkdir()
            mine.write_text('{"mine": 1}')
            self.assertEqual(self.run_module("export", checkpoint, mine.parent, "--program", program, expect=2).splitlines()[-1],
                             f"capstan_ps.export: {mine}: is of no exported model, and would be overwritten; expected a folder without such a file, "
                             "or one with an exported model")
            self.assertEqual([(path.name, path.read_text()) for path in mine.parent.iterdir()], [(name, '{"mine": 1}')])
        self.assertEqual(self.run_module("export", checkpoint, folder / "README", "--program", program, expect=2),
                         f"capstan_ps.export: {folder}/README: is no folder\n")

    def check_in_pytorch_alone(self, scores):
        """docs/export.md: model.pt in modules of PyTorch, where Capstan is not imported."""
        saved = torch.load(self.folder / "out/model/model.pt")
        mlp = nn.Sequential(nn.Linear(4 + 8 + 8 + 2 + 1, 32), nn.ReLU(), nn.Linear(32, 1))
        mlp.load_state_dict({name.removeprefix("mlp."): tensor for name, tensor in saved["state_dict"].items()})
        user, item = (nn.EmbeddingBag(*saved["tables"][name]["weight"].shape, mode="mean") for name in ("user", "item"))
        for name, bag in (("user", user), ("item", item)):
            bag.load_state_dict(saved["tables"][name])
        city = capstan_ps.load(self.folder / "out/model")
        checked = 0
        for line, score in zip((self.folder / "test.csv").read_text().splitlines()[1:], scores, strict=True):
            _, of_item, clicked, of_user, price, _, _ = line.split(",")
            ids = [torch.tensor([int(of_user)]), torch.tensor([int(of_item)]), torch.tensor([int(one) for one in clicked.split("|") if one])]
            keys = [saved["keys"][name] for name in ("user", "item", "item")]
            if not all(torch.isin(own, of).all() for own, of in zip(ids, keys)):
                continue  # A row that training has not met is not in the bags.
            u, i, h = (bag(torch.searchsorted(of, own), torch.tensor([0])) for bag, of, own in zip((user, item, item), keys, ids))
            with torch.no_grad():
                town = city.batch([line]).features["city"].sums()
                logit = mlp(torch.cat([u, i, h, town, torch.tensor([[float(price)]])], 1)).squeeze(1) + (h * i).sum(1)
            self.assertAlmostEqual(logit.sigmoid().item(), score, 5)
            checked += 1
        self.assertGreater(checked, 100)

    def check_in_onnx_runtime(self, scores):
        if onnx_runtime.lack():
            self.addCleanup(self.skipTest, onnx_runtime.lack())  # The rest is still tried.
            return
        sys.path.append(str(onnx_runtime.FOLDER))
        import onnxruntime
        session = onnxruntime.InferenceSession(str(self.folder / "out/model/model.onnx"), providers=["CPUExecutionProvider"])
        inputs = capstan_ps.load(self.folder / "out/model").onnx_inputs((self.folder / "test.csv").read_text().splitlines()[1:])
        logits, = session.run(None, {of.name: inputs[of.name] for of in session.get_inputs()})
        np.testing.assert_allclose(1 / (1 + np.exp(-logits)), scores, atol=1e-5)

    def check_refusals(self, checkpoint):
        def refused(name, program, *words, code=2):
            return self.run_module(name, *words, "--program", program, expect=code).splitlines()[-1]

        recommender = EXAMPLES / "recommender.py"
        self.assertEqual(refused("predict", "none.py", checkpoint, "test.csv"),
                         "capstan_ps.predict: --program none.py: there is no file 'none.py'; expected the Python file of the model, and its "
                         "arguments if it has any")
        (self.folder / "idle.py").write_text("print('hello')\n")
        self.assertEqual(refused("export", "idle.py", checkpoint, "other"),
                         "capstan_ps.export: idle.py has ended without calling train() of capstan_ps.torch or capstan_ps.numpy, so there is no model in it")
        (self.folder / "deep.py").write_text(f"import sys\nsys.path.insert(0, {str(EXAMPLES)!r})\nimport capstan_ps.torch as ct\nfrom torch import nn\n"
                                             "ct.train(lambda job: nn.Linear(2, 1), None, lambda net, batch: 1 / 0)\n")
        self.assertEqual(refused("export", "deep.py", checkpoint, "other"),
                         "capstan_ps.export: bias: the program has a tensor of [1], and the model no such tensor")
        (self.folder / "wrong.py").write_text(f"import sys\nsys.path.insert(0, {str(EXAMPLES)!r})\nimport capstan_ps.torch as ct\n"
                                              "from recommender import Recommender\nct.train(Recommender, None, lambda net, batch: 1 / 0)\n")
        self.assertEqual(refused("predict", "wrong.py", checkpoint, "test.csv", code=3),
                         "capstan_ps.predict: wrong.py:5: ZeroDivisionError: division by zero")
        self.assertFalse((self.folder / "other").exists())
        (self.folder / "bad.csv").write_text("liked,item,clicked,user_id,price,city,two\n1,x,,7,0.5,Bern,2\n")
        self.assertIn("bad.csv:2: 'x' is not an id", refused("predict", recommender, checkpoint, "bad.csv"))
        self.assertIn("nowhere.csv", refused("predict", recommender, checkpoint, "nowhere.csv"))
        self.assertIn("nothing", refused("export", recommender, "nothing", "other"))

    def test_classes_of_images_have_a_score_each(self):
        checkpoint, said = self.trained(job_of_images(self.folder) + SYNC, "cnn")
        lines = self.run_module("predict", checkpoint, "test-images-idx3-ubyte", "--program", f"{ROOT}/tests/python/program.py cnn").splitlines()
        scores = np.array([[float(score) for score in line.split(",")] for line in lines])
        labels = np.frombuffer((self.folder / "test-labels-idx1-ubyte").read_bytes()[8:], np.uint8)
        np.testing.assert_allclose(scores.sum(1), 1, atol=1e-5)
        self.assertAlmostEqual((scores.argmax(1) == labels).mean(), said["accuracy"], 6)
        self.run_module("export", checkpoint, "model", "--program", EXAMPLES / "cnn.py")
        saved = torch.load(self.folder / "model/model.pt")
        self.assertEqual((saved["tables"], saved["keys"]), ({}, {}))
        from cnn import build
        net = build(capstan_ps.load(self.folder / "model").job)
        net.load_state_dict(saved["state_dict"])
        pixels = (self.folder / "test-images-idx3-ubyte").read_bytes()[16:]
        images = torch.frombuffer(bytearray(pixels), dtype=torch.uint8).view(-1, 1, 8, 8) / 255
        with torch.no_grad():
            np.testing.assert_allclose(net.eval()(images).softmax(1), scores, atol=1e-4)

    def test_a_program_of_numpy_is_predicted_and_its_arrays_are_the_commands_to_export(self):
        program = EXAMPLES / "factorization_machine.py"
        job = CLICKS.replace("adam", "adagrad") % (2000, "user: factorization_machine.py")
        (self.folder / "job.yaml").write_text(job)
        done = subprocess.run([BINARIES / "capstan", "train", "job.yaml", "--plain", "--workers", "1", "--shards", "1", "--run-dir", "run", "--worker",
                               f"{PYTHON} {program}"], cwd=self.folder, capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(done.returncode, 0, done.stdout[-1500:])
        trained, = self.folder.glob("run/model/*")
        code, said = run_to_end("capstan", "data", "generate", self.folder / "clicks", "--rows", "10", "--eval-rows", "300")
        self.assertEqual(code, 0, said)
        scores = [float(line) for line in self.run_module("predict", trained, "clicks/test.csv", "--program", program).splitlines()]
        self.assertEqual(len(scores), 300)
        self.assertTrue(all(0 < score < 1 for score in scores))
        self.assertIn("factorization_machine.py computes with NumPy", self.run_module("export", trained, "model", "--program", program, expect=2))
        self.assertFalse((self.folder / "model").exists())


if __name__ == "__main__":
    unittest.main(verbosity=2)
