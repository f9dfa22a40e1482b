"""What mends itself: pods that are deleted and killed, nodes that are drained, rollouts, other numbers of pods. Each ends with training
that goes on; at the end of the job every record has been trained as often as it should."""

import time

from cluster import CHART, Namespace, Release, kubectl, merged
from cluster_hit import emptied_and_filled, hit, later, share
from cluster_jobs import RECORDS, claim, ledger, ledger_times, record_lines, records
from drill_table import Row

EPOCHS = 8
SHARDS = 2  # As the chart has it.
POLICIES = {"async": {"policy": "async"}, "sync": {"policy": "sync", "lanes": 6}}

HOW = ("One node of two cores, workers of 80 examples a second, a checkpoint every 3 s. An alert in parentheses still fires from a "
       "trouble before.")


class Drill:
    def __init__(self, policy, prometheus):
        self.policy, self.prometheus = policy, prometheus
        self.rows = []

    def run(self):
        with Namespace(namespace_of(self.policy)) as self.namespace:
            self.namespace.apply(claim("models"), records(record_lines()))
            values = merged(ledger(POLICIES[self.policy], every="3s"), {"job": {"train": {"epochs": EPOCHS}}})
            self.release = Release(self.namespace, "ctr", values)
            self.install()
            self.workers()
            self.pods()
            self.rollouts()
            self.node()
            self.shards()
            self.end()
        return self.rows

    def row(self, what, blow, renewed=lambda status: True):
        since = time.time()
        still = self.prometheus.firing(self.namespace.name)
        _, cost = hit(self.release, what, blow, renewed)
        time.sleep(3)  # For rules that fire as soon as they see it.
        fired = [f"({alert})" if alert in still else alert for alert in self.prometheus.fired(self.namespace.name, since)]
        self.rows.append(Row(f"{self.policy}: {what}", cost.seconds, cost.again, fired))
        print(self.rows[-1], end="", flush=True)

    def install(self):
        begin = time.monotonic()
        self.release.install()
        self.release.until(lambda status: int(status["global_step"]) > 0, "the first gradient")
        self.rows.append(Row(f"{self.policy}: `helm install`, until the first gradient", time.monotonic() - begin))
        self.release.scale(2)
        self.release.until_workers(2)

    def scale(self, count):
        def there(status):
            return sum(one["state"] not in ("lost", "draining") for one in status["workers"]) == count
        self.row(f"{count} workers", lambda: self.release.scale(count), there)

    def workers(self):
        self.scale(5)
        self.scale(2)
        for force in (False, True):
            victim = self.release.pods("worker")[0]["metadata"]["name"]
            def another(status):
                there = {one["name"] for one in status["workers"] if one["state"] not in ("lost", "draining")}
                return victim not in there and len(there) == 2
            self.row(f"a worker is {'deleted by force' if force else 'deleted'}", lambda: self.release.delete_pod(victim, force), another)

    def pods(self):
        for pod in ("ps-0", "ps-1", "chief-0"):
            for force in (False, True):
                old = self.release.status()
                renewed = emptied_and_filled(old)  # One that ends in order hands over what it has.
                if "chief" in pod or force:
                    renewed = later(old, "term" if "chief" in pod else "timeline")
                self.row(f"{pod} is {'deleted by force' if force else 'deleted'}", lambda: self.release.delete_pod(f"ctr-{pod}", force),
                         renewed)

    def rollouts(self):
        for role, kind in (("worker", "deployment"), ("ps", "statefulset"), ("chief", "statefulset")):
            def restart():
                self.namespace.kubectl("rollout", "restart", f"{kind}/ctr-{role}")
                self.namespace.kubectl("rollout", "status", f"{kind}/ctr-{role}", "--timeout=150s")
            self.row(f"`kubectl rollout restart` of {role}", restart, share(SHARDS))
        def broken():
            self.release.helm("upgrade", CHART, "--reuse-values", "--set", "image.tag=is-not-there")
            time.sleep(10)
            self.release.helm("rollback")
        self.row("an image that is not there, rolled back after 10 s", broken, share(SHARDS))

    def node(self):
        node = kubectl("get", "nodes", "--output=jsonpath={.items[0].metadata.name}").stdout
        old = self.release.status()
        def drain():
            kubectl("cordon", node)
            try:
                self.release.evict("ctr-ps-0")
                time.sleep(10)
            finally:
                kubectl("uncordon", node)
        self.row("the only node takes nothing, a shard is evicted; uncordoned after 10 s", drain,
                 emptied_and_filled(old))

    def shards(self):
        for count in (4, 2):
            def upgrade():
                self.release.values = merged(self.release.values, {"ps": {"replicas": count}})
                self.release.upgrade()
            self.row(f"{count} shards", upgrade, share(count))

    def end(self):
        self.release.hurry()
        self.release.wait_job("complete", timeout=600)
        status = self.release.status()
        times = ledger_times(self.release, status["model_uri"])
        if times != {EPOCHS: RECORDS}:
            raise AssertionError(f"records by how often they were trained: {times}, and each should be {EPOCHS} times")
        self.rows.append(Row(f"{self.policy}: the job's end; every one of {RECORDS} records was trained {EPOCHS} times"))


def namespace_of(policy):
    return f"capstan-drill-{policy}"
