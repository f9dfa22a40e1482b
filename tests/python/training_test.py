"""Workers whose computing is the user's own PyTorch program: real processes on loopback."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
from python_data import CLICKS, EXAMPLES, LIKES, PYTHON, ROOT, SYNC, job_of_images, skip_if_lacking, write_likes

if __name__ == "__main__":
    skip_if_lacking()

from crew import BINARIES, Crew, run_to_end, view_pb2  # noqa: E402
from python_crew import PythonCrew  # noqa: E402


class TrainingTest(unittest.TestCase):

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def kept(self, crew, name):
        return shutil.copytree(crew.manifest().parent, self.folder / name)

    def trained(self, name, job, **more):
        """The finished model of an undisturbed job, and its last status."""
        with PythonCrew(job, name=name, **more) as crew:
            crew.wait()
            return self.kept(crew, name), crew.last

    def differences(self, one, other):
        """{part: [common, changed, added, removed, state only]}"""
        code, said = run_to_end("capstan", "checkpoint", "diff", one, other)
        self.assertEqual(code, 0, said)
        return {line.split()[0]: [int(n.replace(",", "")) for n in line.split()[2:7]] for line in said.splitlines()[1:]}

    def assert_equal(self, one, other, parts):
        found = self.differences(one, other)
        self.assertEqual(set(found), parts)
        for part, (common, *changes) in found.items():
            self.assertGreater(common, 0, part)
            self.assertEqual(changes, [0, 0, 0, 0], part)

    # ---- what comes out ----

    def test_bits_depend_neither_on_who_works_nor_on_who_dies_nor_on_the_chief(self):
        job = CLICKS % (20000, "user: deepfm.py") + SYNC.replace("lanes: 4", "lanes: 8")  # So that each of eight workers has one.
        parts = {"features", "mlp.0.weight", "mlp.0.bias", "mlp.2.weight", "mlp.2.bias"}
        one, status = self.trained("one", job, workers=1)
        self.assertEqual(status.examples, 20000)
        for workers in (3, 8):
            self.assert_equal(one, self.trained(f"of-{workers}", job, workers=workers, shards=1)[0], parts)
        with PythonCrew(job, workers=3, name="killed", environment={"PACE": "0.05"}) as crew:
            crew.until_examples(3000)
            crew.kill("worker-1")
            crew.until_examples(6000)
            crew.restart_chief()
            crew.until_examples(9000)
            crew.processes["worker-2"].terminate()
            self.assertEqual(crew.end_of("worker-2"), 0, crew.log("worker-2"))
            crew.wait()
            self.assert_equal(one, self.kept(crew, "killed"), parts)

    def test_a_step_that_is_under_way_is_finished_where_the_worker_may_take_so_long(self):
        job = CLICKS % (20000, "user: deepfm.py")
        for drain, more in (("2", 0), ("30", 125)):
            with self.subTest(drain), PythonCrew(job, workers=1, name=f"drain-{drain}", environment={"PACE": "6", "CAPSTAN_DRAIN": drain}) as crew:
                crew.until_examples(1)
                before = crew.status().examples
                crew.processes["worker-0"].terminate()
                self.assertEqual(crew.end_of("worker-0"), 0, crew.log("worker-0"))
                self.assertEqual(crew.status().examples - before, more)

    def test_features_have_tables_of_their_own_and_their_bits_depend_on_nobody(self):
        for name, count, seed in (("train", 8000, 1), ("test", 2000, 2)):
            write_likes(self.folder / f"{name}.csv", count, seed)
        job = LIKES % (self.folder / "train.csv", self.folder / "test.csv") + SYNC
        parts = {"user", "item", "city", "mlp.0.weight", "mlp.0.bias", "mlp.2.weight", "mlp.2.bias"}
        with PythonCrew(job, example="recommender", workers=1, name="likes") as crew:
            crew.wait()
            self.assertGreater(crew.final("auc"), 0.8, "of .85 that can be had")
            one = self.kept(crew, "one")
        tables = {part: common for part, (common, *_) in self.differences(one, one).items()}
        self.assertEqual((tables["item"], tables["city"]), (40, 3), "an empty city is one of its own")
        self.assertLessEqual(tables["user"], 500)
        with PythonCrew(job, example="recommender", workers=3, name="killed", environment={"PACE": "0.02"}) as crew:
            crew.until_examples(3000)
            crew.kill("worker-1")
            crew.until_examples(6000)
            crew.restart_shard(0)
            crew.wait()
            self.assert_equal(one, self.kept(crew, "killed"), parts)

    def test_weights_multiply_the_losses_that_a_program_gives(self):
        for name, count, seed in (("train", 4000, 1), ("test", 1000, 2)):
            write_likes(self.folder / f"{name}.csv", count, seed)
        job = LIKES % (self.folder / "train.csv", self.folder / "test.csv") + SYNC

        def trained(name, rate, *more):
            descent = f"{{kind: sgd, learning_rate: {rate}}}"
            return self.trained(name, job, example="recommender", workers=2, overrides=[
                "train.epochs=1", f"optimizer={{sparse: {descent}, dense: {descent}}}", "tables={user: {dim: 4}, item: {dim: 8}}", *more])
        weighted, status = trained("weighted", 0.25, "data.schema.weight=two")
        fast, unweighted = trained("fast", 0.5)
        parts = {"user", "item", "city", "mlp.0.weight", "mlp.0.bias", "mlp.2.weight", "mlp.2.bias"}
        self.assert_equal(weighted, fast, parts)
        self.assertEqual(dict(status.evaluations[-1].metrics), dict(unweighted.evaluations[-1].metrics), "all weigh the same")
        slow, _ = trained("slow", 0.25)
        self.assertGreater(self.differences(weighted, slow)["item"][1], 30, "of 40 rows")

    def test_statistics_that_are_not_trained_are_the_lanes_mean_whoever_works(self):
        job = job_of_images(self.folder) + SYNC
        parts = {"0.weight", "1.bias", "1.running_mean", "1.running_var", "1.weight", "5.bias", "5.weight"}
        with PythonCrew(job, example="cnn", workers=1, name="bn") as crew:
            crew.wait()
            self.assertGreater(crew.final("accuracy"), 0.9)
            one = self.kept(crew, "one")
            begun = next(crew.folder.glob("model/*/initial/*"))
            for part, (_, changed, *_) in self.differences(begun, one).items():
                self.assertGreater(changed, 0, f"{part} has never changed")
        three, _ = self.trained("three", job, example="cnn", workers=3)
        self.assert_equal(one, three, parts)
        # The mean of the lanes also where gradients are sums, which are as many times as large.
        still = "optimizer.dense={kind: sgd, learning_rate: 1e-30}"
        mean, _ = self.trained("mean", job, example="cnn", workers=2, overrides=[still])
        summed, _ = self.trained("summed", job, example="cnn", workers=2, overrides=[still, "train.gradient=sum"])
        found = self.differences(mean, summed)
        for part in ("1.running_mean", "1.running_var"):
            self.assertEqual(found[part], [8, 0, 0, 0, 0], part)

    def test_asynchronous_training_reaches_what_the_towers_reach(self):
        job = CLICKS % (40000, "%s") + "update: {sparse: {policy: async}, dense: {policy: async}}"
        aucs = []
        with PythonCrew(job % "user: deepfm.py", workers=2, name="async") as crew:
            crew.wait()
            aucs.append(crew.final("auc"))
        with Crew(job % "towers: [{kind: fm}, {kind: mlp, hidden: [64]}]", workers=2, name="towers") as crew:
            crew.wait()
            aucs.append(crew.final("auc"))
        self.assertGreater(min(aucs), 0.6, aucs)
        self.assertLess(abs(aucs[0] - aucs[1]), 0.02, aucs)

    def test_batch_norm_is_trained_where_one_record_more_than_whole_batches_is_a_task(self):
        job = CLICKS % (251, "user: normalized.py") + SYNC
        with PythonCrew(job, program="small_programs.py", example="normalized", workers=1, name="one-more",
                        overrides=["data.task_records=251", "train.batch_size=125"]) as crew:
            last = crew.wait()
            self.assertEqual((last.examples, last.tasks.retries), (251, 0))

    def test_a_batch_without_keys_is_a_step_without_gradient(self):
        train = self.folder / "train.csv"
        train.write_text("liked,user,item\n" + "".join(f"{i % 2},{i % 3},{i % 5}\n" for i in range(20)) + "1,,\n")
        job = f"""
job: ids
data: {{format: csv, header: true, train: {train}, schema: {{label: liked}}, features: {{user: {{column: user, kind: id}}, item: {{column: item, kind: id}}}}}}
tables: {{user: {{dim: 4}}, item: {{dim: 4}}}}
model: {{user: factorized.py, embedding_stddev: 0.3}}
optimizer: {{sparse: {{kind: sgd, learning_rate: 0.1}}}}
train: {{batch_size: 1}}
"""
        for update in ("{sparse: {policy: sync, lanes: 2}, dense: {policy: sync, lanes: 2}}", "{sparse: {policy: async}, dense: {policy: async}}"):
            with self.subTest(update), PythonCrew(f"{job}update: {update}\n", program="small_programs.py", example="factorized", workers=1,
                                                  name="ids") as crew:
                last = crew.wait()
                self.assertEqual((last.examples, last.tasks.retries), (21, 0))

    # ---- what goes wrong ----

    def test_a_step_that_holds_the_interpreter_for_longer_than_a_lease_loses_none(self):
        job = CLICKS % (6000, "user: deepfm.py") + SYNC
        with PythonCrew(job, workers=2, name="hold", environment={"HOLD": "5"}) as crew:
            last = crew.wait()
            self.assertEqual((last.tasks.expirations, last.tasks.retries), (0, 0), last.tasks)

    def test_another_model_is_refused_and_the_job_goes_on(self):
        job = CLICKS % (20000, "user: deepfm.py") + SYNC
        with PythonCrew(job, workers=1, name="mismatch", environment={"PACE": "0.5"}) as crew:
            crew.until_examples(500)
            crew.add_worker("other", WIDTH="7")
            self.assertEqual(crew.end_of("other"), 2)
            self.assertIn("the model differs from the job's (declared by worker-0): further.bias of [1] is here, and "
                          "not in the job; --fresh starts over", crew.log("other"))
            crew.add_worker("quick", PACE="0")
            crew.processes["worker-0"].terminate()
            crew.wait()

    def test_an_exception_is_told_and_ends_the_job_when_it_comes_again(self):
        job = CLICKS % (20000, "user: deepfm.py")
        with PythonCrew(job, workers=2, name="raises", environment={"RAISE": "3"}) as crew:
            last = crew.wait(expect=1)
            where = "program.py:%d" % (1 + next(
                i for i, line in enumerate((ROOT / "tests/python/program.py").read_text().splitlines())
                if "raise ValueError" in line))
            self.assertIn(f"{where}: ValueError: this batch is not to my taste (in the program of worker worker-", last.reason)
            self.assertIn("raise ValueError(", last.reason)
            self.assertEqual([crew.end_of(f"worker-{i}") for i in range(2)], [3, 3])

    def test_the_last_line_of_a_program_that_fails_says_why(self):
        """A pod's termination message is the end of its log."""
        program = self.folder / "model.py"
        failing = "raise KeyError('no weights')"
        program.write_text(f"import capstan_ps.torch as ct\ndef build(job):\n    {failing}\nct.train(build, None, lambda *_: None)\n")
        with PythonCrew(CLICKS % (20000, "user: deepfm.py"), workers=1, name="why", environment={"RAISE": "3"}) as crew:
            self.assertEqual(crew.end_of("worker-0"), 3)
            self.assertRegex(crew.log("worker-0").splitlines()[-1], r"^capstan_ps: program.py:\d+: ValueError: this batch is not to my taste$")
            variables = {"CAPSTAN_CHIEF": crew.address, "CAPSTAN_HOST": "127.0.0.1", "CAPSTAN_HEALTH_PORT": "0",
                         "CAPSTAN_METRICS_PORT": "0"}
            done = subprocess.run([PYTHON, program], capture_output=True, text=True, env={**os.environ, **variables}, timeout=60)
            self.assertEqual(done.returncode, 3, done.stderr)
            self.assertIn(failing, done.stderr)
            self.assertEqual(done.stderr.splitlines()[-1], "capstan_ps: model.py:3: KeyError: 'no weights'")

    # ---- how it is started ----

    def test_alone_a_program_says_how_it_is_started(self):
        done = subprocess.run([PYTHON, str(EXAMPLES / "deepfm.py")], capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)
        self.assertIn("capstan train job.yaml --worker 'python deepfm.py'", done.stderr)

    def test_towers_and_programs_do_not_take_each_others_jobs(self):
        with Crew(CLICKS % (4000, "user: deepfm.py"), workers=1, name="tower-worker") as crew:
            self.assertEqual(crew.processes["worker-0"].wait(20), 2)
            self.assertIn("capstan train --worker 'python deepfm.py'", crew.log("worker-0"))
            status = crew.status()
            self.assertEqual((status.state, status.waiting_for),
                             (view_pb2.JOB_STATE_PENDING, "the model, which the first worker declares"))
        with PythonCrew(CLICKS % (4000, "preset: lr"), workers=1, name="python-worker") as crew:
            self.assertEqual(crew.end_of("worker-0"), 2)
            self.assertIn("model.user: is not set in the job file", crew.log("worker-0"))

    def test_the_documented_command_trains_the_documented_program(self):
        page = (ROOT / "docs/python.md").read_text()
        command = next(line.strip() for line in page.splitlines() if line.startswith("    capstan train "))
        (self.folder / "deploy").symlink_to(ROOT / "deploy")
        done = subprocess.run(command + " --plain", shell=True, cwd=self.folder, capture_output=True, text=True, timeout=120,
                              env={**os.environ, "PATH": f"/usr/bin:{BINARIES.resolve()}:{os.environ['PATH']}"})
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertGreater(float(re.search(r"held out  AUC (\S+)", done.stdout).group(1)), 0.65, done.stdout)
        program = (EXAMPLES / "deepfm.py").read_text()
        for line in re.search(r"(?s)```python\n(.*?)```", page).group(1).splitlines():
            if line.strip() and not line.startswith("ct.train"):
                self.assertIn(re.sub(r" +#.*", "", line).strip(), program)

    def test_train_starts_programs_says_how_they_fail_and_starts_over(self):
        job = self.folder / "job.yaml"
        job.write_text(CLICKS % (5000, "user: deepfm.py"))
        program = f"{PYTHON} {ROOT}/tests/python/program.py deepfm"

        def train(*words, **environment):
            done = subprocess.run([BINARIES / "capstan", "train", job, "--plain", "--run-dir", self.folder / "run",
                                   "--worker", program, *words], capture_output=True, text=True, timeout=100,
                                  env={**os.environ, **environment})
            return done.returncode, done.stdout + done.stderr
        code, said = train("--workers", "2", "--shards", "2")
        self.assertEqual(code, 0, said)
        self.assertIn(f"--worker '{program}' --run-dir {self.folder}/run --fresh", said)
        code, said = train("--set", "train.epochs=2", WIDTH="7")
        self.assertNotEqual(code, 0, said)
        self.assertIn("the model differs from the job's", said)
        code, said = train("--fresh", WIDTH="7")
        self.assertEqual(code, 0, said)
        code, said = train("--fresh", RAISE="2")
        self.assertNotEqual(code, 0, said)
        self.assertIn("ValueError: this batch is not to my taste", said)


if __name__ == "__main__":
    unittest.main(verbosity=2)
