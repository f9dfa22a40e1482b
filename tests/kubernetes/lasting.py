"""What lasts until somebody mends it. Each trouble stays long enough for its alert, is mended, and training goes on."""

import re
import time

import cluster_store
from cluster import CHART, KUBE, Namespace, Release, kubectl, merged, run, store_up
from cluster_jobs import claim, in_bucket, ledger, record_lines, records, steady, synthetic
from drill_table import Row

LASTS = 75  # Seconds; time in the rules is SPEED times as fast.
SPEED = 10  # More of it, and what a cluster takes to tell of a pod would look like a trouble.
TELLING = re.compile(r"waits for|failed, last|cannot|OOMKilled|Pending|unknown key|refuses|FAILED|failed|stuck|no gradients|not finite")
HOW = (f"Each trouble lasts for {LASTS} s and is then mended; each time span in the rules is {SPEED} times as short, and there is no "
       f"kube-state-metrics.")
MOST_SAID = 240  # Characters of a cell.
STORE_HOST = "198.18.0.1/32"


def said(release):
    done = release.ask("status", "--wait=0", check=False)
    lines = [" ".join(line.split()) for line in (done.stdout + done.stderr).splitlines()]
    told = [line for line in lines if TELLING.search(line)]
    return " / ".join(told or lines[:1])[:MOST_SAID]


class Trouble:
    """`name`: of the namespace, too. Begins with a release that trains, unless `values` are not to be trained with."""

    name = what = ""
    trains = True   # Before, and after it has been mended.
    needs_store = False
    fires = ()      # Alerts that must; whatever else fires is in the table, too.

    def values(self):
        return merged(synthetic(50_000_000, train={"batch_size": 64}), {"worker": {"replicas": 2, **steady(20)}})

    def prepare(self):
        """What the namespace holds before the release is installed."""

    def strike(self):
        raise NotImplementedError

    def mend(self):
        """False: it cannot be mended."""
        raise NotImplementedError

    def mended(self, status):
        return True

    def run(self, prometheus):
        row = self.befall(prometheus)
        print(row, end="", flush=True)
        return row

    def befall(self, prometheus):
        with Namespace(namespace_of(self)) as self.namespace:
            self.prepare()
            values = self.values()
            if self.needs_store:
                self.bucket = f"drill-{int(time.time())}"
                store_up(self.bucket)
                values = merged(values, in_bucket(self.bucket, every="3s"))
                self.namespace.apply(*values.pop("secrets"))
            self.release = Release(self.namespace, "ctr", values)
            self.release.install()
            if self.needs_store:
                self.release.until(lambda status: int(status["checkpoint"]["taken"]) > 0, "a checkpoint")
            if self.trains:
                self.release.until_examples(5000)
                prometheus.until_quiet(self.namespace.name)
            since = time.time()
            self.strike()
            time.sleep(LASTS)
            row = Row(self.what, None, None, prometheus.fired(self.namespace.name, since), said(self.release))
            if not set(self.fires) <= set(row.alerts):
                raise AssertionError(f"{self.fires} ought to fire; these did: {row.alerts}; {row.said}")
            begin = time.monotonic()
            if self.mend() is False:
                return row
            self.release.until(self.mended, f"{self.what}: mended")
            self.release.goes_on()
            return row._replace(seconds=time.monotonic() - begin)


class StoreAway(Trouble):
    name, what, needs_store = "store", "the object store is away", True
    fires = ("CheckpointFailing", "ObjectStoreErrors")

    def strike(self):
        run(KUBE, "s3", "down")

    def mend(self):
        store_up(self.bucket)
        self.before = int(self.release.status()["checkpoint"]["taken"])

    def mended(self, status):
        return int(status["checkpoint"]["taken"]) > self.before


class StoreBlocked(StoreAway):
    name, what = "blocked", "a network policy keeps chief and shards from the object store, and a shard is killed"
    fires = ("NotTraining",)

    def strike(self):
        roles = [{"key": "app.kubernetes.io/component", "operator": "In", "values": ["chief", "ps"]}]
        self.namespace.apply({
            "apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": "no-store"},
            "spec": {"podSelector": {"matchExpressions": roles}, "policyTypes": ["Egress"],
                     "egress": [{"to": [{"ipBlock": {"cidr": "0.0.0.0/0", "except": [STORE_HOST]}}]}]}})
        self.release.delete_pod("ctr-ps-0", force=True)

    def mend(self):
        self.namespace.kubectl("delete", "networkpolicy", "no-store")
        self.before = int(self.release.status()["checkpoint"]["taken"])


class WrongKeys(StoreAway):
    name, what = "keys", "the store refuses the keys of its secret; then they are put right"
    fires = ("CheckpointFailing", "ObjectStoreErrors")

    def change_keys(self, secret):
        self.namespace.kubectl("patch", "secret", "bucket", "--type=merge",
                               f"--patch={{\"stringData\":{{\"AWS_SECRET_ACCESS_KEY\":\"{secret}\"}}}}")
        for role in ("chief", "ps"):  # The kubelet looks at a pod's volumes once a minute, and when the pod changes.
            for pod in self.release.pods(role):
                self.namespace.kubectl("annotate", "--overwrite", "pod", pod["metadata"]["name"], f"example.com/keys={secret}")

    def strike(self):
        self.right = cluster_store.keys_of(self.namespace, self.release.pods("chief")[0])["AWS_SECRET_ACCESS_KEY"]
        self.change_keys("not-the-secret")

    def mend(self):
        self.change_keys(self.right)
        self.before = int(self.release.status()["checkpoint"]["taken"])


class ChiefPending(Trouble):
    name, what = "pending", "the chief is deleted, and no node takes it"
    fires = ("ChiefAbsent",)

    def node(self, verb):
        kubectl(verb, kubectl("get", "nodes", "--output=jsonpath={.items[0].metadata.name}").stdout)

    def strike(self):
        self.node("cordon")
        self.release.delete_pod("ctr-chief-0", force=True)

    def mend(self):
        self.node("uncordon")

    def run(self, prometheus):
        try:
            return super().run(prometheus)
        finally:
            self.node("uncordon")


class NoMemory(Trouble):
    name, what = "oom", "the workers' limit of memory is too small"
    # The rollout keeps pods of the former limit, so training goes on; OutOfMemory needs kube-state-metrics.

    def limit(self, memory):
        self.release.values = merged(self.release.values, {"worker": {
            "resources": {"requests": {"memory": memory}, "limits": {"memory": memory}}}})
        self.release.upgrade()

    def strike(self):
        self.limit("12Mi")
        # Rolled out one by one, and none becomes ready: those that are there would stay.
        for pod in self.release.pods("worker"):
            self.release.delete_pod(pod["metadata"]["name"], force=True)

    def mend(self):
        self.limit("768Mi")


class NoImage(Trouble):
    name, what = "image", "an upgrade to an image that is not there"
    fires = ("ProgressBudget",)

    def strike(self):
        self.release.helm("upgrade", CHART, "--reuse-values", "--set", "image.tag=is-not-there")

    def mend(self):
        self.release.helm("rollback")


class NoWorkers(Trouble):
    name, what = "zero", "the workers are scaled to 0, as is wished"

    def strike(self):
        self.release.scale(0)

    def mend(self):
        self.release.scale(2)


class Diverges(Trouble):
    name, what, trains = "nan", "the loss becomes no number", False
    fires = ("TrainingFailed", "NaN")

    def values(self):
        model = {"towers": [{"kind": "linear"}, {"kind": "bias"}], "loss": "squared"}
        rate = {"kind": "sgd", "learning_rate": 1e6}
        return merged(ledger({"policy": "async"}), {
            "job": {"model": model, "optimizer": {"sparse": rate, "dense": rate}},
            "worker": {"replicas": 1, "extraArgs": []}})

    def prepare(self):
        self.namespace.apply(claim("models"), records(record_lines()))

    def strike(self):
        pass  # It comes of itself.

    def mend(self):
        return False


class Typo(Trouble):
    name, what, trains = "typo", "the job has a key that does not exist: `train.bacth_size`", False
    fires = ("TrainingFailed",)

    def values(self):
        return merged(super().values(), {"job": {"train": {"bacth_size": 8}}})

    def strike(self):
        pass  # It is there from the beginning.

    def mend(self):
        del self.release.values["job"]["train"]["bacth_size"]
        self.release.upgrade()
        self.namespace.kubectl("annotate", "pod", "ctr-chief-0", "example.com/look=now")


class TwoReleases(Trouble):
    name, what = "two", "a second release in the same namespace, which is uninstalled again"

    def strike(self):
        self.second = Release(self.namespace, "other", self.values())
        self.second.install()
        self.second.until_examples(1000)

    def mend(self):
        self.second.helm("uninstall")


TROUBLES = (StoreAway, StoreBlocked, WrongKeys, ChiefPending, NoMemory, NoImage, NoWorkers, Diverges, Typo, TwoReleases)


def namespace_of(trouble):
    return f"capstan-drill-{trouble.name}"
