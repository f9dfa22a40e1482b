"""Every misfortune of the table in docs/runbooks.md befalls a live job, and a real Prometheus that scrapes it fires the alerts that the
table promises. For the rules time goes 30 times as fast, so 10 minutes are 20 seconds; the rules are whole otherwise.

    alerts_test.py --table      writes the table
"""

import collections
import http.server
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from authority import Authority
from crew import Crew, has_failpoints
from held_port import HeldPort
from ledger import write_ledger_file
from prometheus import NAMESPACE, ROOT, Prometheus, require_prometheus
from tls_crew import TlsCrew

STORE = ROOT / "tests" / "chaos" / "store.py"
PAGE = ROOT / "docs" / "runbooks.md"
HEAD = "| what happens | what fires | what does not |\n|---|---|---|\n"
SPEED = 30
RECORDS = 200000
# A job of a steady pace that is the same on any machine.
PACE = {f"worker-{number}": 40 for number in range(3)}

# What happens; what fires, each seen here; what does not: only such as cannot, however slow the machine is that this runs on. (A scrape
# that is late can bring forth CapstanTargetDown, for example.)
Row = collections.namedtuple("Row", "what fires silent")
TABLE = {
    "straggler": Row("a worker is ten times as slow as the others, with a staleness bound",
                     ["CapstanStraggler", "CapstanWaitsForSlower"], ["CapstanDataStalled", "CapstanNoWorkers"]),
    "shard": Row("a shard is killed and does not come back",
                 ["CapstanShardDown", "CapstanTargetDown", "CapstanNoProgress", "CapstanProgressBudget"], ["CapstanUpdatesLost", "CapstanNoWorkers"]),
    "again": Row("a shard is killed and comes back from the last checkpoint",
                 ["CapstanUpdatesLost"], ["CapstanRestoreLooping", "CapstanTrainingFailed", "CapstanNoWorkers"]),
    "alone": Row("with replicas, one of two shards is killed and does not come back",
                 ["CapstanPartitionsUnpaired"], ["CapstanNoProgress", "CapstanPartitionSkew", "CapstanUpdatesLost", "CapstanNoWorkers"]),
    "looping": Row("a shard is killed again and again",
                   ["CapstanRestoreLooping", "CapstanUpdatesLost"], ["CapstanTrainingFailed", "CapstanNoWorkers"]),
    "store": Row("S3 does not answer",
                 ["CapstanObjectStoreErrors", "CapstanStateNotStored", "CapstanCheckpointTooOld", "CapstanCheckpointFailing"],
                 ["CapstanShardDown", "CapstanUpdatesLost", "CapstanNoWorkers"]),
    "chief": Row("the chief is gone, or its pod pending",
                 ["CapstanChiefAbsent", "CapstanProgressBudget"], ["CapstanTrainingFailed", "CapstanNoWorkers"]),
    "pending": Row("a shard never comes, and training cannot begin",
                   ["CapstanNotTraining", "CapstanProgressBudget", "CapstanProgressBudgetSlow"],
                   ["CapstanNoProgress", "CapstanShardDown"]),
    "nan": Row("loss or gradients are NaN, and the job gives up", ["CapstanNaN", "CapstanTrainingFailed"], ["CapstanShardDown", "CapstanUpdatesLost"]),
    "oom": Row("a worker of two is ended for want of memory, and does not come back",
               ["CapstanOutOfMemory", "CapstanWorkersMissing"], ["CapstanNoWorkers", "CapstanLeaseChurn"]),
    "gone": Row("all workers are gone, though some are wanted",
                ["CapstanNoWorkers", "CapstanWorkersMissing", "CapstanProgressBudget"], ["CapstanNoProgress", "CapstanShardDown"]),
    "zero": Row("the workers are scaled to 0 on purpose", [],
                ["CapstanNoWorkers", "CapstanNoProgress", "CapstanWorkersMissing", "CapstanLeaseChurn", "CapstanShardDown",
                 "CapstanUpdatesLost"]),
    "change": Row("the job's file is changed while it runs", ["CapstanJobChangePending"], ["CapstanTrainingFailed", "CapstanNoWorkers"]),
    "stale": Row("a worker is 25 times as slow as the others, without a bound",
                 ["CapstanStalenessHigh"], ["CapstanWaitsForSlower", "CapstanNoWorkers"]),
    "dropped": Row("gradients that are stale are dropped, and more than a tenth are",
                   ["CapstanGradientsRejected"], ["CapstanNaN", "CapstanNoWorkers"]),
    "stuck": Row("a worker's file does not come", ["CapstanDataStalled"], ["CapstanShardDown", "CapstanUpdatesLost"]),
    "churn": Row("workers are killed again and again", ["CapstanLeaseChurn"], ["CapstanShardDown", "CapstanUpdatesLost"]),
    "budget": Row("the table has more rows than its budget has room for",
                  ["CapstanTableBudgetUsed"], ["CapstanShardDown", "CapstanUpdatesLost"]),
    "skew": Row("every record has the same key, so that one shard of three has all the work",
                ["CapstanPartitionSkew"], ["CapstanStraggler", "CapstanUpdatesLost"]),
    "certificate": Row("certificates end tomorrow, and nobody renews them",
                       ["CapstanCertificateEnding"], ["CapstanShardDown", "CapstanUpdatesLost"]),
    "done": Row("the job is completed, and the workers are left as they are",
                ["CapstanCompletedNotScaledDown"], ["CapstanNoProgress", "CapstanNoWorkers", "CapstanTrainingFailed", "CapstanShardDown"]),
}

# Those whose alerts wait for a quarter of an hour of the rules' time, or whose silence is that of such alerts: together, so that the others
# need not wait for so long.
LONG = ("shard", "alone", "pending", "oom", "gone", "zero", "budget", "skew", "certificate", "done")


def table():
    lines = [f"| {row.what} | {', '.join(row.fires) or 'nothing'} | {', '.join(row.silent)} |\n" for row in TABLE.values()]
    return HEAD + "".join(lines)


def job(data, policy="{policy: async}", model="{preset: fm, embedding_dim: 4}", rate=0.001, more=""):
    return f"""
job: alerts
data: {{format: csv, train: [{data}], schema: {{label: 0, categorical: "1"}}, task_bytes: 4KiB}}
model: {model}
optimizer: {{sparse: {{kind: sgd, learning_rate: {rate}}}, dense: {{kind: sgd, learning_rate: {rate}}}}}
update: {{sparse: {policy}, dense: {policy}}}
train: {{batch_size: 16}}
partition_count: 8
checkpoint: {{every: 2s}}
worker_lease: 3s
heartbeat: 200ms
{more}
"""


class ClusterState:
    """Says what kube-state-metrics would say of the workers. `facts`: {series: value}."""

    def __init__(self, facts):
        class Handler(http.server.BaseHTTPRequestHandler):

            def do_GET(self):
                try:
                    self.answer()
                except BrokenPipeError:  # A scrape that has lost its patience.
                    pass

            def answer(self):
                self.send_response(200)
                self.send_header("Content-Type", "text/plain; version=0.0.4")
                self.end_headers()
                self.wfile.write("".join(f"{name} {value}\n" for name, value in list(facts.items())).encode())

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


class IncompleteCrew(Crew):
    """Its second shard never comes."""

    def add_shard(self, index):
        if index == 0:
            super().add_shard(index)


def wanted(name):
    return f'kube_deployment_spec_replicas{{namespace="{NAMESPACE}",deployment="{name}-worker"}}'


class AlertsTest(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.data, few, same = (self.folder / f"{name}.csv" for name in ("records", "few", "same"))
        write_ledger_file(self.data, RECORDS)
        write_ledger_file(few, 64)
        same.write_text("1,the-only-key\n" * RECORDS)
        bound = "{policy: ssp, staleness: 2}"
        ordinary = job(self.data)
        diverging = job(self.data, model="{towers: [{kind: linear}, {kind: bias}], loss: squared}", rate=1e6)
        dropping = "{policy: async, stale_gradients: drop, drop_above: 0}"
        keyed = "{towers: [{kind: linear}], loss: logistic}"  # Without dense parameters.
        self.all_crews = {
            "straggler": Crew(job(self.data, bound), shards=1, workers=3, pace={**PACE, "worker-2": 400}, name="straggler"),
            "shard": Crew(ordinary, shards=2, workers=1, pace=PACE, name="shard"),
            "again": Crew(ordinary, shards=1, workers=1, pace=PACE, name="again"),
            "alone": Crew(job(self.data, more="replicas: 1"), shards=2, workers=1, pace=PACE, name="alone"),
            "looping": Crew(ordinary, shards=1, workers=1, pace=PACE, name="looping"),
            "store": Crew(ordinary, shards=1, workers=1, pace=PACE, name="store"),
            "chief": Crew(ordinary, shards=1, workers=1, pace=PACE, name="chief"),
            "pending": IncompleteCrew(ordinary, shards=2, workers=1, pace=PACE, name="pending"),
            "nan": Crew(diverging, shards=1, workers=0, pace=PACE, name="nan", exit_when_done=False),
            "oom": Crew(ordinary, shards=1, workers=2, pace=PACE, name="oom"),
            "gone": Crew(ordinary, shards=1, workers=1, pace=PACE, name="gone"),
            "zero": Crew(ordinary, shards=1, workers=2, pace=PACE, name="zero"),
            "change": Crew(ordinary, shards=1, workers=1, pace=PACE, name="change", chief_flags=["--on-changed-job=keep"]),
            "stale": Crew(ordinary, shards=1, workers=3, pace={**PACE, "worker-2": 1000}, name="stale"),
            "dropped": Crew(job(self.data, dropping), shards=1, workers=3, pace=PACE, name="dropped"),
            "stuck": Crew(job(self.data, more="data_stall: 2s"), shards=1, workers=2, pace=PACE, name="stuck"),
            "churn": Crew(ordinary, shards=1, workers=2, pace=PACE, name="churn"),
            # Its pace fills the table soon, and so many epochs that it is still at work when the others have begun.
            "budget": Crew(job(self.data, more="table: {byte_budget: 1MiB}"), shards=1, workers=1, pace=4, name="budget",
                           overrides=["train.epochs=100"]),
            "skew": Crew(job(same, model=keyed), shards=3, workers=2, pace=PACE, name="skew"),
            "certificate": TlsCrew(ordinary, Authority(self.folder / "authority"), job_name="alerts", shards=1, workers=1, pace=PACE,
                                   name="certificate"),
            "done": Crew(job(few), shards=1, workers=1, name="done", exit_when_done=False),
        }

    def equip(self):
        port = HeldPort()
        self.addCleanup(port.close)
        address = port.address
        self.store = subprocess.Popen([sys.executable, str(STORE), *address.split(":")])
        self.addCleanup(self.store.wait)
        self.addCleanup(self.store.kill)
        store = self.all_crews["store"]
        for process in ("chief", "ps-0", "worker-0"):
            store.environment[process] = {"AWS_ENDPOINT_URL_S3": f"http://{address}", "AWS_ACCESS_KEY_ID": "town",
                                          "AWS_SECRET_ACCESS_KEY": "secret-of-the-town", "CAPSTAN_S3_ALLOW_HTTP": "true"}
        store.overrides = ["checkpoint.uri=s3://town/model"]
        self.all_crews["stuck"].environment["worker-0"] = {"CAPSTAN_FAILPOINTS": "data.read=delay(3600000):5"}
        # Prometheus passes on what it hears of other addresses every five seconds only, and would see but a few of the starts.
        looping = HeldPort()
        self.addCleanup(looping.close)
        self.all_crews["looping"].metrics_ports["ps-0"] = looping.number

    def begin(self):
        for crew in self.crews.values():
            crew.begin()
        for name, crew in self.crews.items():
            if name not in ("pending", "done", "nan"):
                crew.until_examples(64, timeout=120)
            if name == "alone":
                crew.until(lambda: crew.status().replicas.unpaired == 0, "a backup of each partition", timeout=120)
            if name in ("again", "looping", "store"):
                crew.until(lambda: crew.status().checkpoint.taken > 0, "a checkpoint", timeout=120)

    def end(self):
        for crew in self.crews.values():
            crew.__exit__(*sys.exc_info())  # Of a failure the logs stay.

    def strike(self, facts):
        for name in {"oom", "zero", "gone"} & self.crews.keys():
            facts[wanted(name)] = self.crews[name].workers
        self.prometheus.keep_dead = True
        strikes = {
            "shard": lambda crew: crew.kill("ps-1"),
            "alone": lambda crew: crew.kill("ps-1"),
            "again": lambda crew: crew.restart_shard(0),
            "looping": lambda crew: crew.restart_shard(0),
            "chief": lambda crew: crew.kill("chief"),
            "store": lambda crew: self.store.kill(),
            "oom": lambda crew: self.end_for_want_of_memory(crew, facts),
            "gone": lambda crew: crew.kill("worker-0"),
            "zero": lambda crew: self.scale_to_zero(crew, facts),
            "nan": lambda crew: crew.add_worker("worker-0"),
            "change": lambda crew: crew.job_file.write_text(crew.job_file.read_text().replace("batch_size: 16", "batch_size: 8")),
        }
        for name in strikes.keys() & self.crews.keys():
            strikes[name](self.crews[name])
        self.prometheus.discover()

    def end_for_want_of_memory(self, crew, facts):
        crew.kill("worker-1")
        labels = f'namespace="{NAMESPACE}",pod="oom-worker-1",container="worker"'
        facts[f"kube_pod_container_status_restarts_total{{{labels}}}"] = 1
        facts[f'kube_pod_container_status_last_terminated_reason{{{labels},reason="OOMKilled"}}'] = 1

    def scale_to_zero(self, crew, facts):
        facts[wanted("zero")] = 0
        for name in ("worker-0", "worker-1"):
            crew.kill(name, signal.SIGTERM)

    def fired(self, since):
        """{job: alerts}, and what was seen of others."""
        found = collections.defaultdict(set)
        for one in self.prometheus._ask("query_range", 'ALERTS{alertstate="firing"}', start=since, end=time.time(), step=0.5):
            found[one["metric"]["job_name"]].add(one["metric"]["alertname"])
        return found

    def open_promises(self, since):
        fired = self.fired(since)
        return {name: sorted(set(TABLE[name].fires) - fired[name]) for name in self.crews if set(TABLE[name].fires) - fired[name]}

    def test_each_misfortune_fires_what_the_table_promises(self):
        # Some at a time: with all of them a machine of two cores is so busy that scrapes are late, and rules begin anew.
        self.equip()
        for names in (LONG, [name for name in TABLE if name not in LONG]):
            with self.subTest(misfortunes=names):
                self.crews = {name: self.all_crews[name] for name in names}
                try:
                    self.suffer()
                finally:
                    self.end()

    def suffer(self):
        facts = {f'kube_pod_container_status_restarts_total{{namespace="{NAMESPACE}",pod="oom-worker-1",container="worker"}}': 0}
        cluster = ClusterState(facts)
        self.addCleanup(cluster.close)
        self.begin()
        with Prometheus(self.crews, SPEED, [cluster.address]) as self.prometheus:
            # Half a minute and more for the rules: that all has been well is known.
            deadline = time.monotonic() + 60
            while len(self.prometheus.query("job:capstan_running:max")) < len(self.crews) and time.monotonic() < deadline:
                time.sleep(0.2)
            time.sleep(2)
            since = time.time()
            self.strike(facts)
            deadline = time.monotonic() + 300
            told = None
            while (missing := self.open_promises(since)) and time.monotonic() < deadline:
                if missing != told:
                    print(f"{time.time() - since:.0f} s: {missing} are still to fire", flush=True)
                told = missing
                time.sleep(2)
                if "looping" in missing:
                    self.crews["looping"].restart_shard(0)
                if "churn" in missing:
                    self.crews["churn"].kill("worker-1")
                    self.crews["churn"].add_worker("worker-1")
                self.prometheus.discover()
            self.assertEqual(self.open_promises(since), {}, "these did not fire")
            fired = self.fired(since)
        false = {name: sorted(set(TABLE[name].silent) & fired[name]) for name in self.crews if set(TABLE[name].silent) & fired[name]}
        self.assertEqual(false, {}, "these fired, and ought not to")

    def test_the_runbooks_have_the_table(self):
        self.assertIn(table(), PAGE.read_text(), "run tests/e2e/alerts_test.py --table")


def write_table():
    page = PAGE.read_text()
    before, _, after = page.partition(HEAD)
    rest = after.split("\n\n", 1)[1]
    PAGE.write_text(before + table() + "\n" + rest)


if __name__ == "__main__":
    if sys.argv[1:] == ["--table"]:
        sys.exit(write_table())
    require_prometheus()
    if not has_failpoints():
        print("SKIPPED: a file that does not come is a failpoint, and these programs have none")
        sys.exit(77)
    unittest.main(verbosity=2)
