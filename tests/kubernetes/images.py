"""See `images`, which starts the cluster and then this."""

import argparse
import math
import os
import pathlib
import re
import sys
import threading
import time
import typing

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]
import cluster_store
import drill_table
from cluster import KUBE, ROOT, Namespace, Release, merged, require_cluster, require_torch_image, run, store_up
from cluster_jobs import in_bucket

PROGRAM = ROOT / "deploy/examples/python/resnet.py"
PIXELS, CLASSES, IN_A_FILE, HELD_OUT = 128, 10, 2000, 1000
LANES, BATCH, WORKERS, SHARDS = 4, 32, 3, 2
WORKER_MEMORY = 960  # MiB.
BUCKET = "images"
PATIENCE = 3600  # Seconds that a job may take.


class Set(typing.NamedTuple):
    """Images in the store."""
    images: int
    files: int
    bytes: int


class Trained(typing.NamedTuple):
    """A release that has come to its end."""
    model: str
    seconds: float
    rounds: int
    accuracy: float
    peak: int      # Bytes of memory that one of its workers held at most,
    again: int     # and images that were trained again.
    killed: typing.Sequence[str]


def upload(count):
    """Makes the images where they have not been made before, and puts them into the bucket."""
    folder = ROOT / "build" / f"images-{count}"
    files = max(count // IN_A_FILE, WORKERS)
    if not (folder / "done").exists():
        folder.mkdir(parents=True, exist_ok=True)
        program = pathlib.Path(os.environ["CAPSTAN_BIN"]) / "image_set"
        run(program, folder, "train", count, PIXELS, CLASSES, files, timeout=PATIENCE)
        run(program, folder, "eval", HELD_OUT, PIXELS, CLASSES, 1, timeout=PATIENCE)
        (folder / "done").touch()
    tars = sorted(folder.glob("*.tar"))
    for tar in tars:
        run(KUBE, "s3", "curl", "--fail", "-T", tar, f"/{BUCKET}/data/{tar.name}")
    return Set(count, files, sum(tar.stat().st_size for tar in tars if tar.name.startswith("train")))


def values(name, given):
    """Chart values of the job; `secrets` are to be applied, and are no values."""
    lanes = {"policy": "sync", "lanes": LANES}
    store = in_bucket(BUCKET, every="20s", data="data", models=f"models-{int(time.time())}/{name}")
    return merged(store, {
        "job": {"data": {"format": "tar", "train": f"s3://{BUCKET}/data/train-*.tar", "eval": f"s3://{BUCKET}/data/eval-*.tar",
                         "synthetic": None,
                         "image": {"height": given.side, "width": given.side, "random_crop": True, "random_flip": True}},
                "model": {"preset": None, "embedding_dim": None, "hidden": None, "user": PROGRAM.name, "loss": "softmax",
                          "outputs": CLASSES},
                "optimizer": {"sparse": None, "dense": {"kind": "momentum", "learning_rate": 0.02, "weight_decay": 0.0001}},
                "update": {"sparse": lanes, "dense": lanes}, "replicas": 1,
                "train": {"batch_size": BATCH, "epochs": 1, "max_steps": given.steps}},
        "ps": {"replicas": SHARDS},
        "worker": {"replicas": WORKERS, "code": {PROGRAM.name: PROGRAM.read_text()},
                   "resources": {"limits": {"memory": f"{WORKER_MEMORY}Mi"}}}})


class PeakMemory(threading.Thread):
    """Follows how much memory any worker of a release holds, by the counters of its pods' control groups."""

    def __init__(self, release):
        super().__init__(daemon=True)
        self.release, self.bytes, self.over = release, 0, threading.Event()

    def run(self):
        while not self.over.wait(5):
            for pod in self.release.namespace.kubectl("get", "pods", "--selector=app.kubernetes.io/component=worker", "-o", "name",
                                                      check=False).stdout.split():
                told = self.release.namespace.kubectl(
                    "exec", pod, "--", "sh", "-c",
                    "cat /sys/fs/cgroup/memory/memory.stat /sys/fs/cgroup/memory.stat 2>/dev/null", check=False).stdout
                found = re.search(r"^(?:total_rss|anon) (\d+)$", told, re.M)
                self.bytes = max(self.bytes, int(found.group(1)) if found else 0)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.join()


def kill(release, given):
    """A worker after a third of the job, a shard after two thirds, each at once and without a word; what was done."""
    done = []
    for role, part in (("worker", 1 / 3), ("ps", 2 / 3)):
        release.until(lambda status: int(status["global_step"]) >= part * given.steps, f"{part:.0%} of the job", PATIENCE)
        pod = release.pods(role)[-1]["metadata"]["name"]
        step = release.status()["global_step"]
        release.delete_pod(pod, force=True)
        done.append(f"{pod} at round {step}")
        print(f"killed {done[-1]}", flush=True)
    return done


def train(name, given, disturbed):
    with Namespace(f"capstan-{name}") as namespace:
        chosen = values(name, given)
        namespace.apply(*chosen.pop("secrets"))
        release = Release(namespace, "resnet", chosen)
        release.install()
        with PeakMemory(release) as peak:
            release.until(lambda status: int(status["examples"]) > 0, "the first round", PATIENCE)
            begin = time.monotonic()
            killed = kill(release, given) if disturbed else []
            release.wait_job("complete", timeout=PATIENCE)
            seconds = time.monotonic() - begin
        status = release.status()
        accuracy = status["evaluations"][-1]["metrics"]["accuracy"]
        again = sum(int(loss["examples"]) for loss in status["losses"])
        return Trained(status["model_uri"], seconds, int(status["global_step"]), accuracy, peak.bytes, again, killed)


def compared(one, other):
    """How many numbers the two models have, and how many differ in any bit, optimizer state included."""
    program = pathlib.Path(os.environ["CAPSTAN_BIN"]) / "capstan"
    keys = [*(f"{variable}={value}" for variable, value in cluster_store.OWNER.items()), "AWS_REGION=us-east-1",
            f"AWS_ENDPOINT_URL_S3={cluster_store.ENDPOINT}", "CAPSTAN_S3_ALLOW_HTTP=true"]
    said = run(KUBE, "exec", "--", "env", *keys, program, "checkpoint", "diff", one, other).stdout
    rows = [[int(cell.replace(",", "")) for cell in line.split()[2:7]] for line in said.splitlines()[1:]]
    return sum(row[0] for row in rows), sum(sum(row[1:]) for row in rows)


def table(stored, given, calm, hit):
    size = f"{stored.images:,} JPEGs of {PIXELS} x {PIXELS} in {stored.files} tar files, {stored.bytes / 1e6:,.0f} MB"
    rows = [("the data", size, size)]
    rows += [(what, tell(calm), tell(hit)) for what, tell in (
        ("killed", lambda run: ", ".join(run.killed) or "nothing"),
        ("rounds, of %d images each" % (LANES * BATCH), lambda run: f"{run.rounds:,}"),
        ("images trained again", lambda run: f"{run.again:,}"),
        ("seconds", lambda run: f"{run.seconds:.0f}"),
        ("images a second", lambda run: f"{(run.rounds * LANES * BATCH + run.again) / run.seconds:.1f}"),
        (f"most memory of a worker, of {WORKER_MEMORY} MiB", lambda run: f"{run.peak / 2**20:.0f} MiB"),
        (f"accuracy on {HELD_OUT:,} others", lambda run: f"{run.accuracy:.4f}"))]
    return ("| | undisturbed | with kills |\n|---|---|---|\n" +
            "".join(f"| {' | '.join(row)} |\n" for row in rows))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--images", type=int, default=100_000, help="in the set")
    parser.add_argument("--side", type=int, default=64, help=f"pixels of the {PIXELS} to which the decoders bring them")
    parser.add_argument("--steps", type=int, default=0, help="rounds to train; default: all images once")
    parser.add_argument("--write", action="store_true", help="put the table into docs/kubernetes-checks.md")
    given = parser.parse_args()
    given.steps = given.steps or math.ceil(given.images / (LANES * BATCH))
    require_cluster()
    require_torch_image()
    store_up(BUCKET)
    stored = upload(given.images)
    print(f"{stored.images:,} images in {stored.files} files, {stored.bytes / 1e6:,.0f} MB", flush=True)
    calm = train("images-calm", given, disturbed=False)
    hit = train("images-hit", given, disturbed=True)
    common, different = compared(calm.model, hit.model)
    said = f"Of {common:,} weights {different:,} differ in any bit, state of the optimizer included."
    text = table(stored, given, calm, hit)
    print(f"\n{text}\n{said}", flush=True)
    failures = [what for what, holds in (
        ("the two models differ", common > 11_000_000 and different == 0),
        ("a round was lost or counted twice", calm.rounds == hit.rounds == given.steps),
        ("the data are not several times as large as a worker's memory",
         given.images < 100_000 or stored.bytes > 3 * WORKER_MEMORY * 2**20)) if not holds]
    for failure in failures:
        print(f"FAILED {failure}", flush=True)
    if given.write and not failures:
        drill_table.put("images", "tests/kubernetes/images", f"ResNet-18, images brought to {given.side} x {given.side} and cropped and "
                        f"mirrored at random, {WORKERS} workers, {SHARDS} shards, {LANES} lanes of {BATCH} images; one node of two cores. {said}",
                        text)
    print(f"{3 - len(failures)} passed, {len(failures)} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
