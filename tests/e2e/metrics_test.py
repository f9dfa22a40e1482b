"""A live job exports the metrics that docs/metrics.md names, no others, and their values are true."""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "integration")]
from crew import Crew, chief_pb2, series
from ledger import write_ledger_file
from metrics_documented import differences, documented, exported

PAGE = (HERE.parent.parent / "docs" / "metrics.md").read_text()
RECORDS, BATCH = 4000, 16
# Tables, an evaluation, ssp and a checkpoint at the end: together they bring forth every series but those
# of a call that failed, and of a recovery.
NEEDS_A_FAILURE = {"capstan_worker_rpc_retries_total", "capstan_recovery_last_samples",
                   "capstan_recovery_last_timestamp_seconds", "capstan_recovery_last_updates"}
NEEDS_A_LIMIT = {"capstan_process_memory_limit_bytes", "capstan_process_cpu_limit_cores",
                 "capstan_process_cpu_throttled_seconds_total"}  # Of the process's cgroup.
NEEDS_TLS = {"capstan_tls_certificate_expiry_timestamp_seconds"}  # See tls_test.py.
NAMES = ("chief", "ps-0", "ps-1", "worker-0", "worker-1")


def job(data, update, replicas=0):
    return f"""
job: metrics
data:
  format: csv
  train: [{data}]
  eval: [{data}]
  schema: {{label: 0, categorical: "1"}}
  task_bytes: 4KiB
model: {{preset: fm, embedding_dim: 4}}
optimizer: {{sparse: {{kind: adagrad, learning_rate: 0.05}}, dense: {{kind: adagrad, learning_rate: 0.05}}}}
update: {update}
train: {{batch_size: {BATCH}, epochs: 1}}
table: {{byte_budget: 64MiB}}
checkpoint: {{every: 10m}}
worker_lease: 2s
heartbeat: 200ms
replicas: {replicas}
"""


class Wanderers:
    """Workers that come, are heard of, and go, over the real wire; they train nothing."""

    def __init__(self, crew, count, first=0):
        self.crew, self.names = crew, [f"wanderer-{number}" for number in range(first, first + count)]
        self.trainers = {}
        for incarnation, name in enumerate(self.names, start=(1 << 40) + first):
            request = chief_pb2.RegisterWorkerRequest(wire_version=1, name=name, incarnation=incarnation)
            reply = crew.call("RegisterWorker", request, chief_pb2.RegisterWorkerReply)
            self.trainers[name] = (incarnation, reply.trainers)

    def report(self, draining=False):
        for name, (incarnation, trainers) in self.trainers.items():
            reports = [chief_pb2.TrainerReport(trainer=trainer, step_seconds=0.01) for trainer in trainers]
            request = chief_pb2.WorkerHeartbeatRequest(incarnation=incarnation, name=name, trainers=reports,
                                                       draining=draining)
            self.crew.call("WorkerHeartbeat", request, chief_pb2.WorkerHeartbeatReply)


def series_count(text):
    return sum(line.startswith("capstan_") for line in text.splitlines())


class MetricsTest(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.data = pathlib.Path(self.scratch.name) / "records.csv"
        write_ledger_file(self.data, RECORDS)

    def tearDown(self):
        self.scratch.cleanup()

    def scrapes_of(self, update, replicas=0):
        """[(role, text)] of every process, in the middle of the job and after it; and those after it by name."""
        with Crew(job(self.data, update, replicas), pace=5, exit_when_done=False) as crew:
            crew.until_examples(RECORDS // 4)
            # Some series are there only while trainers train, and are set at a heartbeat: look until the end.
            during = []
            while crew.status().examples < RECORDS:
                during += [(name.split("-")[0], crew.scrape(name)) for name in NAMES]
            last = crew.until_state("COMPLETED")
            self.assertEqual(last.examples, RECORDS)
            crew.until(lambda: series(crew.scrape("chief"), "capstan_training_state")['state="completed"'],
                       "the chief's last numbers")
            # A shard and a worker tell of their last step a moment later.
            crew.until(lambda: sum(series(crew.scrape(name), "capstan_worker_samples_total")[""]
                                   for name in ("worker-0", "worker-1")) == RECORDS, "the last steps")
            after = {name: crew.scrape(name) for name in NAMES}
        return during + [(name.split("-")[0], text) for name, text in after.items()], after

    def check(self, update, replicas=0):
        scrapes, after = self.scrapes_of(update, replicas)
        self.assertEqual(differences(PAGE, scrapes), [])
        for name, text in after.items():
            self.check_by_promtool(name, text)
        self.check_values(after)
        return scrapes, after

    def check_by_promtool(self, name, text):
        if shutil.which("promtool") is None:
            # The rest is still tried.
            self.addCleanup(self.skipTest, "no promtool (Debian: apt-get install prometheus): it did not look at the metrics")
            return
        done = subprocess.run(["promtool", "check", "metrics"], input=text, capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout + done.stderr), (0, ""), name)

    def check_values(self, after):
        chief, ps = after["chief"], [after["ps-0"], after["ps-1"]]
        workers = [after["worker-0"], after["worker-1"]]

        def total(texts, name, labels=""):
            return sum(series(text, name)[labels] for text in texts)

        self.assertEqual(total([chief], "capstan_samples_processed_total"), RECORDS)
        self.assertEqual(total([chief], "capstan_samples_expected"), RECORDS)
        self.assertEqual(total([chief], "capstan_training_progress_ratio"), 1)
        self.assertEqual(total([chief], "capstan_workers", 'state="parked"'), 2)
        self.assertEqual(total([chief], "capstan_tasks", 'state="todo"'), 0)
        self.assertEqual(total([chief], "capstan_checkpoint_commits_total", 'result="ok"'), 1)
        self.assertTrue(0 < total([chief], "capstan_loss", 'split="train"') < 0.7)
        self.assertGreater(series(chief, "capstan_eval_metric")['name="accuracy"'], 0.9)
        self.assertEqual(total([chief], "capstan_shards", 'state="serving"'), 2)
        self.assertEqual(total([chief], "capstan_table_budget_bytes"), 64 << 20)
        self.assertAlmostEqual(total([chief], "capstan_learning_rate", 'part="sparse"'), 0.05)
        for process in (chief, *ps, *workers):
            self.assertGreater(total([process], "capstan_process_cpu_seconds_total"), 0)
            self.assertGreater(total([process], "capstan_process_resident_bytes"), 4 << 20)
        steps = total(workers, "capstan_worker_steps_total")
        self.assertGreaterEqual(steps, RECORDS / BATCH)
        self.assertLess(steps, 1.5 * RECORDS / BATCH)  # The last batch of a task may be small.
        for phase in ("data", "pull", "compute", "push"):
            seen = total(workers, "capstan_worker_step_duration_seconds_count", f'phase="{phase}"')
            self.assertGreaterEqual(seen, steps, phase)
        self.assertGreater(total(ps, "capstan_update_staleness_versions_count"), steps)
        self.assertGreater(total(ps, "capstan_update_staleness_seconds_count"), steps)
        self.assertGreaterEqual(total(ps, "capstan_server_push_requests_total", 'code="OK"'), steps)
        self.assertGreaterEqual(total(ps, "capstan_server_pull_requests_total", 'code="OK"'), steps)
        rows = sum(sum(series(text, "capstan_table_rows").values()) for text in ps)
        self.assertEqual(rows, RECORDS)  # One row a record.
        self.assertGreater(total(ps, "capstan_store_bytes"), 8 * 5 * RECORDS)  # Weights and slots.
        for reason in ("nan", "shape", "unknown"):
            self.assertEqual(total(ps, "capstan_gradients_rejected_total", f'reason="{reason}"'), 0)

    def test_ssp_and_evaluation_export_everything_that_is_documented(self):
        scrapes, _ = self.check("{sparse: {policy: ssp, staleness: 2}, dense: {policy: ssp, staleness: 2}}", replicas=1)
        pages = documented(PAGE)
        pages.pop("serve")  # No part of a job: serve_test.py.
        for role, metrics in pages.items():
            seen = {name for of, text in scrapes if of == role for name in exported(text)}
            # A worker uses a store only if its data are in one: s3_test.py.
            unused = {name for name in metrics if "object_store" in name} if role == "worker" else set()
            self.assertEqual(set(metrics) - seen - NEEDS_A_FAILURE - NEEDS_A_LIMIT - NEEDS_TLS - unused, set(), role)

    def test_series_of_workers_go_with_them(self):
        """200 in two crowds: the first says goodbye, the second falls silent."""
        busy = job(self.data, "{sparse: {policy: ssp, staleness: 2}}").replace("epochs: 1", "epochs: 1000")
        patient = busy.replace("worker_lease: 2s", "worker_lease: 5s")
        with Crew(patient, shards=1, workers=1, pace=1) as crew:
            crew.until_examples(BATCH)
            for crowd, goodbye in ((0, True), (1, False)):
                wanderers = Wanderers(crew, 100, first=100 * crowd)
                wanderers.report()
                present = {f'worker="{name}"' for name in wanderers.names}
                crew.until(lambda: present <= set(self.of_workers(crew)), "the series of everybody")
                if goodbye:
                    wanderers.report(draining=True)
                crew.until(lambda: set(self.of_workers(crew)) == {'worker="worker-0"'}, "the end of their series")
                # One table: the budget is 400 series and 60 for each.
                for name in ("chief", "ps-0", "worker-0"):
                    self.assertLess(series_count(crew.scrape(name)), 460, name)

    def of_workers(self, crew):
        return series(crew.scrape("chief"), "capstan_worker_step_rate")

    def test_sync_exports_nothing_else(self):
        _, after = self.check("{sparse: {policy: sync, lanes: 2}, dense: {policy: sync, lanes: 2}}")
        waits = series(after["worker-0"], "capstan_worker_round_wait_seconds_count")[""]
        self.assertGreater(waits, 10)
        for shard in ("ps-0", "ps-1"):
            stale = series(after[shard], "capstan_update_staleness_versions_sum")[""]
            self.assertEqual(stale, 0, "a synchronous update was stale")

    def test_aggregation_and_backup_workers_export_nothing_else(self):
        self.check("{sparse: {policy: async, aggregate: 2},"
                   " dense: {policy: sync, lanes: 2, backup_workers: 1}}")


if __name__ == "__main__":
    unittest.main(verbosity=2)
