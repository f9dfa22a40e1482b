"""A Kubernetes cluster for tests: that of $KUBECONFIG, or the one of $CAPSTAN_KUBE if it is up.

The images must be in it: $CAPSTAN_IMAGE (capstan) with the tag $CAPSTAN_TAG (e2e); tests/e2e/kubernetes sees to that.
"""

import contextlib
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import yaml

import time_left

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHART = ROOT / "helm" / "capstan"
# None: the cluster is not ours to add things to.
KUBE = None if os.environ.get("KUBECONFIG") else os.environ.get("CAPSTAN_KUBE")
IMAGE, TAG = os.environ.get("CAPSTAN_IMAGE", "capstan"), os.environ.get("CAPSTAN_TAG", "e2e")
# Small enough for two cores that others use too.
_SMALL = {"requests": {"cpu": "10m", "memory": "48Mi"}, "limits": {"memory": "768Mi"}}
SMALL = {"image": {"repository": IMAGE, "tag": TAG},
         **{role: {"resources": _SMALL} for role in ("chief", "ps", "worker", "wait", "tests")}}


def _tool(name):
    return [name] if os.environ.get("KUBECONFIG") else [KUBE, name]


def run(*words, check=True, timeout=300, text=None):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, timeout=timeout, input=text)
    if check and done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, words[:6]))}: {done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done


def kubectl(*words, **options):
    return run(*_tool("kubectl"), *words, **options)


def helm(*words, **options):
    return run(*_tool("helm"), *words, **options)


def skip(reason):
    print(f"SKIPPED: {reason}")
    sys.exit(77)


def require_cluster():
    """Ends the test as skipped where there is no cluster, or no time for it."""
    if os.environ.get("CAPSTAN_NO_CLUSTER"):
        reason = os.environ["CAPSTAN_NO_CLUSTER"]
    elif too_late := time_left.lack(pathlib.Path(sys.argv[0]).stem.removesuffix("_test")):
        skip(too_late)
    elif not os.environ.get("KUBECONFIG") and not KUBE:
        reason = "neither $KUBECONFIG nor $CAPSTAN_KUBE names a cluster"
    elif kubectl("get", "--raw", "/readyz", check=False).returncode != 0:
        reason = "the cluster does not answer; tests/e2e/kubernetes starts one"
    elif KUBE and f"{IMAGE}/chief:{TAG}" not in run(KUBE, "images").stdout:
        reason = f"the cluster has no image {IMAGE}/chief:{TAG}; tests/e2e/kubernetes builds it"
    else:
        return
    skip(f"{reason}; nothing was tried on Kubernetes")


def require_torch_image():
    """After require_cluster: ends the test as skipped where programs of PyTorch cannot be had in a pod."""
    if KUBE and f"{IMAGE}/torch:{TAG}" not in run(KUBE, "images").stdout:
        skip(f"the cluster has no image {IMAGE}/torch:{TAG}; tests/e2e/kubernetes builds it where the Python module is built")


def digest_of(role):
    """Of the image that the cluster has under a tag, known there by its digest, too, as if it had been pulled by it."""
    name = f"docker.io/{IMAGE}/{role}"
    listed = run(KUBE, "ctr", "images", "ls", f"name=={name}:{TAG}").stdout
    digest = re.search(r"sha256:[0-9a-f]{64}", listed).group()
    run(KUBE, "ctr", "images", "tag", "--force", f"{name}:{TAG}", f"{name}@{digest}")
    return digest


def store_up(bucket, timeout=60):
    """The cluster's object store serves the bucket. On a busy machine it says that it is ready and still answers 503."""
    deadline = time.monotonic() + timeout
    while True:
        done = run(KUBE, "s3", "up", "--bucket", bucket, check=False)
        if done.returncode == 0:
            return
        if "HTTP 503" not in done.stderr or time.monotonic() > deadline:
            raise AssertionError(f"the object store does not come up: {done.stdout[-2000:]}{done.stderr[-2000:]}")
        time.sleep(0.5)


def merged(*values):
    """Values over values, as helm merges them."""
    result = {}
    for one in values:
        for key, value in one.items():
            both = isinstance(value, dict) and isinstance(result.get(key), dict)
            result[key] = merged(result[key], value) if both else value
    return result


class Namespace:
    """A namespace of its own under the restricted Pod Security Standard; goes with all that is in it."""

    def __init__(self, name):
        self.name = name

    def __enter__(self):
        kubectl("delete", "namespace", self.name, "--ignore-not-found", timeout=180)
        kubectl("create", "namespace", self.name)
        kubectl("label", "namespace", self.name, "pod-security.kubernetes.io/enforce=restricted")
        return self

    def __exit__(self, kind, value, trace):
        if kind is not None:
            print(self.kubectl("get", "all,events", check=False).stdout[-6000:], file=sys.stderr)
        kubectl("delete", "namespace", self.name, "--wait=false", check=False)

    def kubectl(self, *words, **options):
        return kubectl("--namespace", self.name, *words, **options)

    def apply(self, *objects):
        self.kubectl("apply", "-f", "-", text="\n---\n".join(yaml.safe_dump(one) for one in objects))

    def get(self, *words):
        return json.loads(self.kubectl("get", *words, "--output=json").stdout)


class Release:
    """One job. `values` go over the small resources of SMALL."""

    def __init__(self, namespace, name, values):
        self.namespace, self.name, self.values = namespace, name, merged(SMALL, values)
        # As capstan.fullname has it.
        short = name[:31].removesuffix("-") + "-" + hashlib.sha256(name.encode()).hexdigest()[:8]
        self.prefix = name if len(name) <= 40 else short

    def helm(self, command, *words, **options):
        return helm(command, self.name, *words, "--namespace", self.namespace.name, **options)

    def apply(self, command, *words):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            yaml.safe_dump(self.values, file)
            file.flush()
            return self.helm(command, CHART, "--values", file.name, *words)

    def install(self, *words):
        return self.apply("install", *words)

    def upgrade(self, *words):
        return self.apply("upgrade", *words)

    def hurry(self):
        """Workers that were held back no longer are: new ones take their places."""
        self.values = merged(self.values, {"worker": {"extraArgs": []}})
        self.upgrade()

    def scale(self, workers):
        self.namespace.kubectl("scale", f"deployment/{self.prefix}-worker", f"--replicas={workers}")

    def pods(self, role):
        selector = f"app.kubernetes.io/instance={self.name},app.kubernetes.io/component={role}"
        return self.namespace.get("pods", f"--selector={selector}")["items"]

    def delete_pod(self, pod, force=False):
        """As a user does, with its grace period, or at once as when its node is gone."""
        self.namespace.kubectl("delete", "pod", pod, *(["--grace-period=0", "--force"] if force else ["--wait=false"]))

    def evict(self, pod):
        """As a node that is drained does."""
        eviction = {"apiVersion": "policy/v1", "kind": "Eviction",
                    "metadata": {"name": pod, "namespace": self.namespace.name}}
        kubectl("create", "--raw", f"/api/v1/namespaces/{self.namespace.name}/pods/{pod}/eviction", "-f", "-",
                text=json.dumps(eviction))

    def goes_on(self, timeout=120):
        """Until it trains further than now: with every shard, and nothing that is waited for. The status."""
        last = {}
        def trains(status):
            if status["state"] == "JOB_STATE_COMPLETED":
                return True
            if status["state"] != "JOB_STATE_RUNNING" or status["waiting_for"]:
                last.clear()
                return False
            key = (status["term"], status["timeline"])
            return int(status["examples"]) > last.setdefault(key, int(status["examples"]))
        return self.until(trains, "training that goes on", timeout)

    def command(self, *words, **options):
        """`capstan` in the chief's pod."""
        return self.namespace.kubectl("exec", f"{self.prefix}-chief-0", "--", "capstan", *words, **options)

    def ask(self, *words, **options):
        """`capstan` outside of the cluster, with kubectl."""
        prefix = [] if os.environ.get("KUBECONFIG") else [KUBE, "exec", "--"]
        program = pathlib.Path(os.environ.get("CAPSTAN_BIN", ROOT / "build/dev/bin")).resolve() / "capstan"
        return run(*prefix, program, *words, "--kubernetes", self.name, "--namespace", self.namespace.name, **options)

    def status(self):
        """The chief's status; {} while there is none."""
        done = self.command("status", "--json", "--wait=1", check=False)
        return json.loads(done.stdout) if done.returncode == 0 else {}

    def scores(self, *records):
        """What the pods that serve answer to records, by way of the Service and the API server."""
        path = f"/api/v1/namespaces/{self.namespace.name}/services/{self.prefix}-serve:http/proxy/v2/models/{self.name}/infer"
        asked = {"name": "records", "datatype": "BYTES", "shape": [len(records)], "data": records}
        return json.loads(kubectl("create", "--raw", path, "-f", "-", text=json.dumps({"inputs": [asked]})).stdout)

    def until(self, condition, what, timeout=120):
        """Until condition(status) holds; the status."""
        deadline = time.monotonic() + timeout
        while True:
            status = self.status()
            if status and condition(status):
                return status
            if time.monotonic() > deadline:
                logs = self.namespace.kubectl("logs", f"{self.prefix}-chief-0", "--tail=20", check=False).stdout
                raise AssertionError(f"{what} did not come within {timeout} s: {json.dumps(status)[:800]}\n{logs}")
            time.sleep(0.3)

    def until_examples(self, count, timeout=120):
        return self.until(lambda status: int(status["examples"]) >= count, f"{count} examples", timeout)

    def until_workers(self, count, timeout=90):
        def there(status):
            return sum(worker["state"] not in ("lost", "draining") for worker in status["workers"]) == count
        return self.until(there, f"{count} workers", timeout)

    def chief_log_now(self):
        return self.namespace.kubectl("logs", f"{self.prefix}-chief-0", check=False).stdout

    @contextlib.contextmanager
    def chief_log(self):
        """A function that gives what the present chief has logged so far, also when it has gone."""
        with tempfile.TemporaryFile("w+") as file:
            follower = subprocess.Popen([*_tool("kubectl"), "--namespace", self.namespace.name, "logs", "--follow",
                                         f"{self.prefix}-chief-0"], stdout=file, stderr=subprocess.DEVNULL)
            try:
                yield lambda: os.pread(file.fileno(), 1 << 24, 0).decode()
            finally:
                follower.terminate()
                follower.wait(10)

    def wait_for_end(self, timeout=180):
        """As the chart's README says it: the types of the wait Job's conditions."""
        self.namespace.kubectl("wait", "--for=jsonpath={.status.conditions[0].status}=True", "job", "-l",
                               f"capstan/wait={self.name}", f"--timeout={timeout}s", timeout=timeout + 30)
        return self.namespace.kubectl("get", "job", "-l", f"capstan/wait={self.name}", "-o",
                                      "jsonpath={.items[*].status.conditions[*].type}").stdout.split()

    def wait_job(self, condition, timeout=180):
        self.namespace.kubectl("wait", f"--for=condition={condition}", "job",
                               f"--selector=capstan/wait={self.name}", f"--timeout={timeout}s", timeout=timeout + 30)
