"""What `python3 -m capstan_ps.mlflow` writes of a job, as MLflow itself reads it afterwards. Skipped, loudly, where there is no MLflow
(tests/run fetches it)."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import types
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
from python_data import CLICKS, PYTHON, ROOT, skip_if_lacking

if __name__ == "__main__":
    skip_if_lacking()

from crew import Crew  # noqa: E402

if __name__ == "__main__":
    sys.path.insert(0, os.environ["PYTHONPATH"])

from capstan_ps import mlflow  # noqa: E402

MLFLOW = ROOT / "build/mlflow"  # Where pip has put it.
LONG = CLICKS % (100000, "preset: lr")
UNTIL_A_SECOND_COMES = {"workers": 1, "pace": {"worker-0": 100}, "shards": 1}
BROKEN = """
job: broken
data: {format: csv, train: %s, schema: {label: 0, categorical: "1-1"}}
model: {preset: lr}
optimizer: {sparse: {kind: adagrad, learning_rate: 0.05}}
train: {batch_size: 10}
"""
READ = """
import json, sys, mlflow
client = mlflow.MlflowClient(tracking_uri=sys.argv[1])
runs = []
for experiment in client.search_experiments():
    for run in client.search_runs([experiment.experiment_id]):
        history = {name: [[each.value, each.step] for each in client.get_metric_history(run.info.run_id, name)]
                   for name in run.data.metrics}
        runs.append({"experiment": experiment.name, "name": run.info.run_name, "status": run.info.status,
                     "parameters": run.data.params, "tags": run.data.tags, "metrics": history})
print(json.dumps(runs))
"""


class MlflowTest(unittest.TestCase):

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.store = (self.folder / "runs").as_uri()

    def environment(self, mlflow=True):
        path = [os.environ["PYTHONPATH"], *([str(MLFLOW)] if mlflow else [])]
        return {**os.environ, "PYTHONPATH": os.pathsep.join(path)}

    def follow(self, crew, *arguments):
        return subprocess.Popen([PYTHON, "-m", "capstan_ps.mlflow", "--chief", crew.address, "--tracking-uri", self.store, *arguments],
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=self.folder, env=self.environment())

    def runs(self):
        """What MLflow knows."""
        done = subprocess.run([PYTHON, "-c", READ, self.store], stdout=subprocess.PIPE, text=True, env=self.environment(), check=True)
        return json.loads(done.stdout)

    def run_of_job(self):
        runs = self.runs()
        self.assertEqual(len(runs), 1, runs)
        return runs[0]

    def until_run(self, crew):
        crew.until(lambda: list(self.folder.glob("runs/*/*/meta.yaml")), "a run", 60)

    @unittest.skipUnless(MLFLOW.is_dir(), f"no {MLFLOW}")
    def test_parameters_metrics_and_evaluations_of_a_job_to_its_end(self):
        with Crew(LONG, name="mlflow", **UNTIL_A_SECOND_COMES) as crew:
            crew.until_examples(1)
            follower = self.follow(crew, "--run-name", "first", "--every", "0.1")
            def several():
                return any(len(path.read_text().splitlines()) > 2 for path in self.folder.glob("runs/*/*/metrics/loss"))
            crew.until(several, "metrics while it trains", 60)
            crew.add_worker("worker-1")
            last = crew.wait(linger=True)
            said, _ = follower.communicate(timeout=60)
            self.assertEqual((follower.returncode, said), (0, ""))
        run = self.run_of_job()
        self.assertEqual((run["experiment"], run["name"], run["status"]), ("clicks", "first", "FINISHED"))
        for name, value in {"job": "clicks", "train.batch_size": "125", "model.preset": "lr",
                            "tables.features.optimizer.kind": "adagrad"}.items():
            self.assertEqual(run["parameters"].get(name), value, run["parameters"])
        self.assertEqual(run["metrics"]["eval/auc"], [[each.metrics["auc"], each.examples] for each in last.evaluations])
        self.assertGreater(last.evaluations[-1].metrics["auc"], 0.5)
        for name in ("loss", "examples_per_second", "progress"):
            steps = [step for _, step in run["metrics"][name]]
            self.assertEqual(steps, sorted(set(steps)), "each step once, ascending")

    @unittest.skipUnless(MLFLOW.is_dir(), f"no {MLFLOW}")
    def test_a_job_that_fails_ends_its_run_so_with_the_reason(self):
        data = self.folder / "train.csv"
        data.write_text("1,r0000001\n" * 12344 + "1,r0012344,surplus\n" + "1,r0000001\n" * 8000)
        with Crew(BROKEN % data, name="mlflow-fails", exit_when_done=False, workers=0, shards=1,
                  overrides=["data.task_bytes=32KiB"]) as crew:
            follower = self.follow(crew, "--every", "0.1")
            self.until_run(crew)
            crew.add_worker("worker-0")
            said, _ = follower.communicate(timeout=60)
        self.assertEqual((follower.returncode, said), (1, ""))
        run = self.run_of_job()
        self.assertEqual((run["experiment"], run["status"]), ("broken", "FAILED"))
        self.assertIn(f"{data}:12345: 3 columns, expected 2", run["tags"]["capstan.reason"])

    @unittest.skipUnless(MLFLOW.is_dir(), f"no {MLFLOW}")
    def test_a_chief_that_goes_before_the_end_is_told(self):
        with Crew(LONG, name="mlflow-gone", **UNTIL_A_SECOND_COMES) as crew:
            follower = self.follow(crew)
            self.until_run(crew)
            crew.hang_up()
            crew.kill("chief")
            said, _ = follower.communicate(timeout=60)
            self.assertRegex(said, rf"^capstan_ps\.mlflow: chief at {crew.address}: tried for 10s: .*\n$")
            self.assertEqual(follower.returncode, 1)
        self.assertEqual(self.run_of_job()["status"], "KILLED")

    @unittest.skipUnless(MLFLOW.is_dir(), f"no {MLFLOW}")
    def test_one_that_is_told_to_end_ends_its_run_first(self):
        with Crew(LONG, name="mlflow-told", **UNTIL_A_SECOND_COMES) as crew:
            follower = self.follow(crew, "--every", "60")
            crew.until(lambda: list(self.folder.glob("runs/*/*/metrics/progress")), "metrics", 60)
            follower.terminate()
            said, _ = follower.communicate(timeout=60)
            self.assertEqual((follower.returncode, said), (128 + signal.SIGTERM, ""))
        self.assertEqual(self.run_of_job()["status"], "KILLED")

    def test_a_loss_that_is_not_known_is_not_written_as_one_of_0(self):
        written = []
        tracking = types.SimpleNamespace(log_metric=lambda run, name, value, step: written.append((name, value, step)))
        last = None
        for examples, loss in ((0, 0.0), (100, 0.5), (200, 0.0), (300, 0.25)):  # Another chief has come in between.
            status = types.SimpleNamespace(examples=examples, loss=loss, examples_per_second=10.0, progress=examples / 400, evaluations=[])
            mlflow.write(tracking, "run", status, last, set())
            last = status
        self.assertEqual([(value, step) for name, value, step in written if name == "loss"], [(0.5, 100), (0.25, 300)])
        self.assertEqual([step for name, _, step in written if name == "progress"], [0, 100, 200, 300])

    def test_without_mlflow_one_line_says_so(self):
        if subprocess.run([PYTHON, "-c", "import mlflow"], capture_output=True).returncode == 0:
            self.skipTest("MLflow is installed here")
        done = subprocess.run([PYTHON, "-m", "capstan_ps.mlflow"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                              cwd=self.folder, env=self.environment(mlflow=False), timeout=60)
        self.assertEqual((done.returncode, done.stdout),
                         (2, "capstan_ps.mlflow: MLflow is not installed here: pip install mlflow-skinny, or mlflow\n"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
