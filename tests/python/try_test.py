"""A program that is tried: on some batches of a job, in one process."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
from python_data import CLICKS, EXAMPLES, LIKES, PYTHON, ROOT, SYNC, job_of_images, skip_if_lacking, write_likes

if __name__ == "__main__":
    skip_if_lacking()

PROGRAMS = {"torch": ROOT / "tests/python/program.py", "numpy": ROOT / "tests/python/numpy_program.py"}


class TryTest(unittest.TestCase):

    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="capstan-try-")
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def tried(self, job, *command, expect=0, **environment):
        """What the program says on both its outputs, by lines, when it is tried on the job."""
        path = self.folder / "job.yaml"
        path.write_text(job)
        done = subprocess.run([PYTHON, *map(str, command), "--try", path], capture_output=True, text=True, timeout=120,
                              env={**os.environ, **environment}, check=False)
        self.assertEqual(done.returncode, expect, done.stdout + done.stderr)
        return done.stdout.splitlines(), done.stderr.splitlines()

    def likes(self):
        for name, count, seed in (("train", 400, 1), ("test", 100, 2)):
            write_likes(self.folder / f"{name}.csv", count, seed)
        return LIKES % (self.folder / "train.csv", self.folder / "test.csv")

    # ---- what fits ----

    def test_three_batches_are_trained_and_one_is_predicted(self):
        said, _ = self.tried(CLICKS % (1000, "user: deepfm.py") + SYNC, EXAMPLES / "deepfm.py")
        read, trained, *batches, predict, fits = said
        self.assertRegex(read, r"^read  labels \[125\]; 4875 keys, distinct rows \[\d+, 8\]$")
        self.assertEqual(trained, "trained  4 tensors: mlp.0.bias [64], mlp.0.weight [64, 312], mlp.2.bias [1], mlp.2.weight [1, 64]")
        self.assertEqual(len(batches), 3)
        for number, line in enumerate(batches):
            self.assertRegex(line, rf"^batch {number}  loss 0\.\d+, a gradient of length 0\.\d+$")
        self.assertEqual(predict, "predict  logits of [125], of held-out records")
        self.assertRegex(fits, r"^fits  capstan train .*/job.yaml --worker '\S+ .*/deepfm.py'$")
        named = fits.split("'")[1].split(" ")[0]
        ask = ["-c", "import sys; print(sys.prefix, sys.version)"]
        self.assertEqual(subprocess.check_output([named, *ask]), subprocess.check_output([PYTHON, *ask]), named)

    def test_its_first_loss_is_that_of_the_job(self):
        """The first batch of the only lane, at the rows and parameters with which the job begins."""
        from python_crew import PythonCrew
        job = CLICKS % (500, "user: deepfm.py") + SYNC.replace("4", "1")
        said, _ = self.tried(job, EXAMPLES / "deepfm.py")
        tried = float(said[2].partition("loss ")[2].partition(",")[0])
        with PythonCrew(job, workers=1, name="one", overrides=["train.max_steps=1"]) as crew:
            crew.wait()
            self.assertAlmostEqual(crew.last.loss, tried, places=5)

    def test_features_images_buffers_and_labels_are_told(self):
        said, _ = self.tried(self.likes(), EXAMPLES / "recommender.py")
        self.assertRegex(said[0], r"numbers \[50, 1\]; feature user, 50 keys, rows of table user \[\d+, 4\]; .*; feature history, \d+ keys, "
                                  r"rows of table item \[\d+, 8\]")
        said, _ = self.tried(job_of_images(self.folder), EXAMPLES / "cnn.py")
        self.assertEqual(said[0], "read  labels [50]; images [50, 1, 8, 8]")
        self.assertIn("running  2 tensors: 1.running_mean [8], 1.running_var [8]", said)

    def test_a_program_in_numpy_is_tried_without_pytorch(self):
        said, _ = self.tried(CLICKS % (1000, "user: factorization_machine.py"), PROGRAMS["numpy"], "factorization_machine")
        self.assertIn("trained  1 tensors: bias [1]", said)
        self.assertIn("predict  logits of [125], of held-out records", said)

    # ---- what does not ----

    def test_mistakes_are_told_as_in_a_job(self):
        clicks = CLICKS % (1000, "user: deepfm.py")
        line = "program.py:%d" % (1 + next(i for i, line in enumerate(PROGRAMS["torch"].read_text().splitlines()) if "raise ValueError" in line))
        _, said = self.tried(clicks, PROGRAMS["torch"], "deepfm", expect=3, RAISE="2")
        self.assertEqual(said[-1], f"capstan_ps: {line}: ValueError: this batch is not to my taste")
        _, said = self.tried(clicks, PROGRAMS["numpy"], "factorization_machine", expect=3,
                             MISTAKE="(losses, cn.Gradients({'bais': gradients.tensors['bias']}))")
        self.assertIn("step gives a gradient of tensor 'bais'; build gave bias; did you mean bias?", said[-1])
        program = self.folder / "model.py"
        text = (EXAMPLES / "recommender.py").read_text()
        for found, put, expect, words in (
                ("e[\"history\"]", "e[\"histroy\"]", 3, "job.yaml has no pooled feature 'histroy'; it has user, item, history, city; did you mean history?"),
                ("reduction=\"none\"", "reduction=\"mean\"", 3, "step gives one loss an example, a tensor of [50], and gave []"),
                ("ct.train(Recommender, step, predict)", "ct.train(Recommender, step)", 2, "train() was given no predict")):
            program.write_text(text.replace(found, put))
            _, said = self.tried(self.likes(), program, expect=expect)
            self.assertIn(words, said[-1])

    def test_a_job_that_has_mistakes_or_another_kind_of_model_is_refused(self):
        for change, words in (
                (("embedding_dim: 8", "embeding_dim: 8"), "job.yaml:4: model.embeding_dim: unknown key; did you mean embedding_dim?"),
                (("user: deepfm.py", "preset: lr"), "model.user: is not set in the job file"),
                (("{kind: adam, learning_rate: 0.003}", "{kind: adam, learning_rate: 0.003, groups: [{match: [\"bn*\"]}]}"),
                 "optimizer.dense.groups[0]: no tensor that is trained is named bn*; there are mlp.0.bias")):
            _, said = self.tried((CLICKS % (1000, "user: deepfm.py")).replace(*change), EXAMPLES / "deepfm.py", expect=2)
            self.assertIn(words, said[-1])

    def test_a_buffer_that_begins_with_nan_is_refused_as_in_the_job(self):
        program = self.folder / "model.py"
        program.write_text((EXAMPLES / "deepfm.py").read_text().replace(
            "super().__init__()", "super().__init__(); self.register_buffer('odd', torch.full((3,), float('nan')))", 1))
        said, told = self.tried(CLICKS % (1000, "user: deepfm.py"), program, expect=2)
        self.assertEqual((said, told[-1]), ([], "capstan_ps: tensor odd begins with values that are not finite numbers"))

    def test_the_arguments_of_the_program_are_those_of_the_command_that_fits(self):
        said, _ = self.tried(CLICKS % (1000, "user: deepfm.py"), EXAMPLES / "deepfm.py", "--width", "a b")
        self.assertRegex(said[-1], r"deepfm\.py --width '\"'\"'a b'\"'\"''$")

    def test_what_has_no_gradient_is_named(self):
        said, _ = self.tried(CLICKS % (1000, "user: deepfm.py"), PROGRAMS["torch"], "deepfm", WIDTH="7")
        self.assertIn("no gradient  further.bias, further.weight: declare frozen what is not trained", said)


if __name__ == "__main__":
    unittest.main(verbosity=2)
