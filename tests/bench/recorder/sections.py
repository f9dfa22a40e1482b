"""What the document's sections consist of: the sides that take turns, and what is compared.

Bars hold for every release; goals are what is aimed at (of the raw stream, of TensorFlow's parameter server, of the best
peer). A case whose bar is a number has no other side."""

import os
import re
import sys

import chief_rows
from compare import Row
from frame import CAPSTAN, EXAMPLES, PROGRAMS, PYTHON, TURNS, Section, faster_than_its_bound
from turns import Side

RAW_PULL, RAW_PUSH = ("P0 gRPC stream pull, 1 MiB, receiver copies", "P0 gRPC stream push, 1 MiB, receiver copies")


def dense(context):
    """A dense part of 256 MiB is pulled and pushed (P1), beside the raw gRPC stream and the peers."""
    others = ("torch-rpc", "mxnet")
    rows = []
    for what, case, raw, bar, goal, goal_tensorflow in (
            ("dense pull", "P1 dense pull", RAW_PULL, 0.70, 0.85, 1.4),
            ("dense push SGD", "P1 dense push SGD", RAW_PUSH, 0.65, 0.80, 1.4),
            ("dense push Adagrad", "P1 dense push Adagrad", RAW_PUSH, None, 0.70, 1.7)):
        rows += [Row(f"{what}, GB/s", case, [(CAPSTAN, raw)], bar, goal),
                 Row(f"{what}, GB/s", case, [("tensorflow", f"{case} .*")], 1, goal_tensorflow),
                 Row(f"{what}, GB/s", case, [(peer, f"{case} .*") for peer in others])]
    return Section("dense", [
        context.capstan("dataplane.py", "P0", "P1"),
        *context.others(("tensorflow", "P1"), ("torch-rpc", "P1"), ("mxnet", "P1"))],
        rows, faster_than_its_bound(("P1 dense pull", RAW_PULL), ("P1 dense push SGD", RAW_PUSH),
                                    ("P1 dense push Adagrad", RAW_PUSH)))


def sparse(context):
    """Rows are pulled (P2) and pushed with Adagrad (P3) in batches of 10,000, beside the peers."""
    peers = ("tensorflow", "torch-rpc", "mxnet", "redis")
    rows = []
    for keys in ("uniform", "Zipf"):
        pull, push = f"P2 sparse pull {keys}.*", f"P3 sparse push Adagrad {keys}.*"
        their_pull, their_push = f"P2 sparse pull .*{keys.lower()}.*", f"P3 sparse push Adagrad {keys.lower()}.*"
        rows += [Row(f"sparse pull {keys}, M rows/s", pull, [(peer, their_pull) for peer in peers], 1, 2),
                 Row(f"sparse push Adagrad {keys}, M rows/s", push, [(peer, their_push) for peer in peers], 1, 5.5)]
    rows += [Row("sparse pull uniform, M rows/s", "P2 sparse pull uniform.*", 4.5, 1),
             Row("sparse push Adagrad uniform, M rows/s", "P3 sparse push Adagrad uniform.*", 2.5, 1)]
    return Section("sparse", [
        context.capstan("dataplane.py", "P2", "P3"),
        *context.others(("tensorflow", "P2"), ("torch-rpc", "P2"), ("mxnet", "P2"), ("redis", "P2"))], rows)


def latency(context):
    """One row is pulled (P6), beside a bare gRPC call and the peers."""
    ours = "P6 1-row pull"
    rows = [Row("1-row pull p50, us", f"{ours} p50", [(CAPSTAN, "P0 gRPC unary 100 B p50")], 1.3, 0.9, less=True),
            Row("1-row pull p99, us", f"{ours} p99", [(CAPSTAN, "P0 gRPC unary 100 B p99")], less=True),
            Row("1-row pull p99.9, us", f"{ours} p99.9", [(CAPSTAN, "P0 gRPC unary 100 B p99.9")], less=True),
            Row("1-row pull p50, us", f"{ours} p50", [("tensorflow", "P6 1-row pull inside a function, mean")], 1, less=True)]
    for peer, case in (("redis", "P6 1-row pull tcp"), ("mxnet", "P6 pull of a 256 B key"), ("torch-rpc", "P6 1-row pull")):
        rows += [Row(f"1-row pull {percent}, us", f"{ours} {percent}", [(peer, f"{case} {percent}")], less=True)
                 for percent in ("p50", "p99")]
    return Section("latency", [
        context.capstan("dataplane.py", "P0", "P6"),
        *context.others(("tensorflow", "P6"), ("torch-rpc", "P6"), ("mxnet", "P6"), ("redis", "P6"))], rows)


def deepfm(context):
    """DeepFM on the click log (P4), in file order, beside the peers."""
    ours, single = r"P4 DeepFM 1 PS \+ 1 worker, . threads? a step", "P4 DeepFM single process, 2 threads"
    what = "DeepFM 1 + 1, examples/s"
    rows = [Row(what, ours, [("tensorflow", r"P4 DeepFM 1 PS \+ 1 workers, 5 steps per dispatch")], 1, 1.5),
            Row(what, ours, [("tensorflow", r"P4 DeepFM 1 PS \+ 1 workers, 1 steps per dispatch")], 1.7, 1.5),
            Row(what, ours, [("tensorflow", f"{single}, . steps per dispatch")], goal=1, cpu=True),
            Row(what, ours, [("torch", single)], 1),
            Row(what, ours, [("torch-rpc", r"P4 DeepFM 1 PS \+ 1 worker, (one|push).*")]),
            *(Row(f"DeepFM 1 + 1, {threads} a step, AUC", rf"P4 test AUC, DeepFM 1 PS \+ 1 worker, {threads} a step", 0.788, 1, 1)
              for threads in ("1 thread", "2 threads")),
            Row("DeepFM 2 + 2, examples/s", r"P4 DeepFM 2 PS \+ 2 workers.*", [(CAPSTAN, ours)], 1),
            Row("DeepFM 2 + 2, examples/s", r"P4 DeepFM 2 PS \+ 2 workers.*",
                [("tensorflow", r"P4 DeepFM 2 PS \+ 2 workers, . steps per dispatch")], 1)]
    return Section("deepfm", [context.capstan("deepfm.py", context.scratch / "clicks"),
                              *context.others(("tensorflow", "P4"), ("torch", "P4"), ("torch-rpc", "P4"))], rows,
                   prepare=context.make_clicks)


def logistic(context):
    """Logistic regression (P5): AUC beside the peers."""
    sides = context.others(("tensorflow", "P5"), ("torch", "P5"))
    rows = [Row(f"{job}, AUC", f"P5 {job} AUC", [(side.name, f"P5 {job} .*")])
            for job in ("lr-criteo", "lr-a9a") for side in sides]
    # AUCs are the same on a busy machine, so one turn is one.
    return Section("logistic", [context.capstan("logistic.py"), *sides], rows, wanted=1, bound=2, quiet=1, lasting=True)


def dtypes(context):
    """bfloat16 beside float32: examples/s, and CPU seconds at both ends."""
    def training(dtype):
        return context.capstan("train.py", EXAMPLES / "quickstart.yaml", "--case", "DeepFM 2 + 2", "--shards", "2", "--workers", "2",
                               "--data", context.clicks(), "--set", f"train.wire_dtype={dtype}", "--until", "600000", name=dtype)
    rows = [Row("DeepFM 2 + 2, examples/s", "DeepFM.*", [("float32", "DeepFM.*")], 1),
            *(Row(f"dense {what}, GB/s of float32", f"dtypes dense {what} bfloat16", [("dense", f"dtypes dense {what} float32")],
                  1, of="dense") for what in ("pull", "push SGD"))]
    return Section("dtypes", [training("bfloat16"), training("float32"), context.capstan("dataplane.py", "dtypes", name="dense")], rows,
                   prepare=context.make_clicks)


def tls(context):
    """Training with mutual TLS, beside plaintext."""
    def training(name, *more):
        return context.capstan("train.py", EXAMPLES / "quickstart.yaml", "--case", "DeepFM 2 + 3", "--shards", "2", "--workers", "3",
                               "--data", context.clicks(), "--until", "600000", *more, name=name)
    return Section("tls", [training("TLS", "--tls"), training("plaintext")],
                   [Row("DeepFM, 2 shards + 3 workers, examples/s", "DeepFM.*", [("plaintext", "DeepFM.*")])], prepare=context.make_clicks)


def memory(context):
    """What a million rows take in memory."""
    rows = [Row(f"resident, 1 M rows of {dim} floats with Adagrad, by the bound", f"memory share of the bound, .* of {dim} .*", 1, 1,
                less=True) for dim in (64, 16)]
    return Section("memory", [context.capstan("dataplane.py", "memory")], rows, wanted=1, bound=2, quiet=1, lasting=True)


def inference(context):
    """What `capstan serve` takes for a request, beside a server that answers as many bytes at once."""
    rows = []
    for records in (1, 100):
        for connections in (1, 8):
            case = f"{records} records a request, {connections} connections"
            rows += [Row(f"{case}, {percent}, us", f"capstan serve, {case}, {percent}", [(CAPSTAN, f"bare HTTP, {case}, {percent}")], less=True)
                     for percent in ("p50", "p99")]
            rows.append(Row(f"{case}, records/s", f"capstan serve, {case}", [(CAPSTAN, f"bare HTTP, {case}")]))
    return Section("inference", [context.capstan("inference.py")], rows)


def scrape(context):
    """What a scrape of the metrics takes, and what it takes from the pushes."""
    rows = [Row("a scrape takes at most, ms", ".*longest", 50, 1, less=True),
            Row("fewer pushes at a scrape every 5 s, %", "fewer pushes at one every.*", 2, 1, less=True)]
    return Section("scrape", [context.capstan("scrape.py")], rows)


def overload(context):
    """Four times the load that a shard can take."""
    rows = [Row("answers at 4 x the peak, by the peak's", "goodput.*", 0.8, 1),
            *(Row(f"{probe} p99 at 4 x the peak, ms", f"overload, {probe} p99", 50, 1, less=True) for probe in ("health", "metrics"))]
    return Section("overload", [context.capstan("overload.py")], rows)


DELTA_ROWS = [
    Row("a delta of 5 % of the rows, its bytes by a full one's", "delta bytes.*", 0.10, 1, less=True),
    Row("a delta of 5 % of the rows, its time by a full one's", "delta time.*", 0.10, 1, less=True)]


def restore_rows(megabytes):
    return [Row("restore, MB/s", "restore", megabytes, 1),
            Row("restore on two shards, MB/s", "restore, 1 -> 2 shards", megabytes, 1)]


def checkpoint(context):
    """Saves under load, deltas, and restores on one shard and on two, to and from a folder."""
    rows = [Row("pace while saving, by idle", "pace.*", 0.85, 1),
            Row("pull p99 while saving, ms", "load save, pull p99", [(CAPSTAN, "load idle, pull p99")], 2, less=True),
            Row("pull p99.9 while saving, ms", r"load save, pull p99\.9", 20, 1, less=True),
            Row("extra memory of a save, by a partition's size", "extra memory.*partition", 1, 1, less=True),
            *DELTA_ROWS, *restore_rows(500)]
    return Section("checkpoint", [context.capstan("checkpoint.py")], rows)


def s3(context):
    """The same over S3 (MinIO on loopback), and training data from there."""
    # MinIO takes what it wants of the two cores, so the pace beside it has no bar.
    rows = [Row("pull p99 while saving, ms", "load save, pull p99", [(CAPSTAN, "load idle, pull p99")], less=True),
            *DELTA_ROWS, *restore_rows(200),
            Row("training data, a file as a whole, MB/s", "S3/ReadWhole", 200, 1),
            Row("training data, tasks of 8 MiB, MB/s", "S3/ReadTasksOf8MiB", 200, 1)]
    return Section("s3", [context.capstan("checkpoint.py", "--s3")], rows)


def before_images(context):
    """A checkpoint in the middle of rounds (sync) and of pushes (async): its rows' before-images."""
    rows = [Row("examples/s while saving, by those otherwise", "pace.*", [("async", "pace.*")])]
    return Section("before-images", [context.capstan("before_images.py", policy, name=policy) for policy in ("sync", "async")], rows)


def replicas(context):
    """A backup of each partition (`replicas: 1`), beside none: pulls, pushes, steps, memory, and training."""
    def training(count, name):
        return context.capstan("train.py", EXAMPLES / "quickstart.yaml", "--case", "DeepFM 2 + 2", "--shards", "2", "--workers", "2",
                               "--data", context.clicks(), "--set", f"replicas={count}", "--until", "600000", name=name)

    def row(what, case, bar, less=False):
        return Row(what, case, [("without", case)], bar, less=less, of="replicas")

    rows = [*(row(f"push Adagrad {keys}, M rows/s", f"P3 sparse push Adagrad {keys}.*", 0.6) for keys in ("uniform", "Zipf")),
            *(row(f"pull {keys}, M rows/s", f"P2 sparse pull {keys}", 1) for keys in ("uniform", "Zipf")),
            row("a step of 1000 rows, p50, us", "steps .* p50", 1.3, less=True),
            row("resident, both shards, MB", "resident, both shards", 2, less=True)]
    rows.append(Row("DeepFM 2 + 2, examples/s", "DeepFM.*", [("training without", "DeepFM.*")], 0.77, of="training"))
    return Section("replicas", [*(context.capstan("replicas.py", count, name=name) for count, name in (("1", "replicas"), ("0", "without"))),
                                *(training(count, name) for count, name in (("1", "training"), ("0", "training without")))],
                   rows, prepare=context.make_clicks)


def failover(context):
    """A shard of three is killed, or its machine vanishes, with replicas: until its partitions are served again."""
    rows = [*(Row(f"{how}: the last partition is served again after, ms", f"{how}: the last .* at most", bar, 1, less=True, of=how)
              for how, bar in (("killed", 800), ("vanished", 2000))),
            *(Row(f"{how}: the longest wait for another partition, ms", f"{how}: the longest .* at most", 50, 1, less=True, of=how)
              for how in ("killed", "vanished"))]
    return Section("failover", [context.capstan("failover.py", how, name=how) for how in ("killed", "vanished")], rows)


def moves(context):
    """Two shards that hold 4 GiB become four while a worker trains: how long that takes, and how long calls wait meanwhile."""
    rows = [Row(f"{calls}, p99.9, ms", f"{calls}, p99.9", 50, 1, less=True)
            for way in ("pulls of", "pushes to") for calls in (f"{way} partitions that moved", f"{way} the other partitions")]
    return Section("moves", [context.capstan("moves.py")], rows)


def shards(context):
    """One to eight shards, each behind a network of its own that takes 400 Mbit a second: what they send and receive together."""
    rows = [Row(f"{way}, {count} shards, by {count} times that of one", f"{count} shards: {way}, by .*", 1, 0.8)
            for count in (2, 4, 8) for way in ("pull", "push")]
    return Section("shards", [context.capstan("shards.py")], rows)


def memory_by_the_plan(of=None):
    """What a process of each role holds at the most, by what `capstan plan` says of it (turns/resident.py)."""
    prefix, more = ("", {}) if of is None else (f"{of}: ", {"of": of})
    return [Row(f"{prefix}memory of the largest {role}, by what `capstan plan` says", f"memory of the largest {role} by the plan", 1, 1,
                less=True, **more) for role in ("ps", "worker", "chief")]


CROWD = ("async", "aggregate", "ssp", "sync", "backup")


def crowd(context):
    """A hundred light workers and ten shards, in every policy; and with a worker, a shard and the chief killed."""
    rows = [row for policy in CROWD for row in (
        Row(f"{policy}: all workers are ready after, s", "all workers are ready after", 90, 1, less=True, of=policy),
        *memory_by_the_plan(of=policy))]
    return Section("crowd", [context.capstan("crowd.py", policy, name=policy) for policy in CROWD], rows, wanted=1, bound=3,
                   quiet=1, lasting=True)


def large(context):
    """A hundred lanes of a model of 102 MB on ten shards and 100,000 objects; and with a worker, a shard and the chief killed."""
    rows = [Row("all shards together, MiB", "memory of all shards together", 4096, 1, less=True),
            Row("the same, with kills, MiB", "memory of all shards together, with .*", 4096, 1, less=True),
            *memory_by_the_plan()]
    return Section("large", [context.capstan("large.py")], rows, wanted=1, bound=3, quiet=1, lasting=True)


def lanes(context):
    """Twenty-five lanes of a small model on one worker, beside one lane."""
    rows = [*(Row(f"tasks of {task}: 25 lanes, by the memory of one", f"tasks of {task}: memory of a worker of many lanes by that of one", bar, 1,
                  less=True) for task, bar in (("64KiB", 1.6), ("2MiB", 4))),
            *(Row(f"tasks of {task}: memory of a worker of {what}, by what `capstan plan` says",
                  f"tasks of {task}: memory of a worker of {what} by the plan", 1, 1, less=True)
              for task in ("64KiB", "2MiB") for what in ("one lane", "many lanes"))]
    return Section("lanes", [context.capstan("lanes.py", context.scratch / "clicks")], rows, wanted=1, bound=3, quiet=1, lasting=True,
                   prepare=context.make_clicks)


def plan(context):
    """What `capstan plan` says of the pace of three models, one to eight workers and one to four shards, beside their pace."""
    rows = [Row(f"{case}: off by the factor", f"{re.escape(case)}: off .*", 1.25, 1, less=True)
            for case in (f"{model} {setting}" for model in ("deepfm", "fm", "mlp") for setting in ("1 + 1", "2 + 2", "4 + 4", "2 + 8"))]
    return Section("plan", [context.capstan("planned.py", context.scratch / "clicks")], rows, prepare=context.make_clicks)


def chief(context):
    """What the chief has to do for 1,000 workers, ten million tasks and 100,000 objects, and what shards keep of a million tasks."""
    return Section("chief", [context.capstan("chief.py")], chief_rows.ROWS)


def python(context):
    """Models of one's own in PyTorch, beside plain PyTorch of the same version and threads; and how fast their data are read."""
    rows = [*(Row(f"DeepFM, 1 shard + 1 worker, {threads} a step, examples/s", f"deepfm, {threads}", [("torch", f"deepfm, {threads}")], 0.9)
              for threads in ("1 thread", "2 threads")),
            Row("ResNet-18 of half the width, 4 lanes on 2 workers of 1 thread, images/s", "resnet, .*", [("torch", "resnet, 2 threads")], 0.85),
            *(Row(f"{model}: handing a step over, beyond a pass over its gradients, ms", f"{model}, .*beyond.*", 0.3, 1, less=True)
              for model in ("deepfm", "resnet")),
            *(Row(f"import and {what}, s", f"import and {what}", 1, 1, less=True) for what in ("connect", "be told the job")),
            Row("40 tables, examples/s by those of one", "40 tables by one", 0.8, 1),
            *(Row(f"{kind}, GB/s of a core", kind, 1, 1, of="reading") for kind in ("tar", "TFRecord")),
            Row("Parquet, MB/s of values of a core", "Parquet", 150, 1, of="reading"),
            Row("shuffled tasks of one .gz of 60 MB, by those of the csv", "shuffled tasks of one .gz by .*", 4, 1, less=True, of="reading")]
    data = context.scratch / "python"
    plain = [Side("torch", [PYTHON, "-B", PROGRAMS / "plain.py", data], context.environment, own=True)]
    return Section("python", [context.capstan("own_model.py", context.scratch / "clicks" / "train.csv", data), *plain,
                              context.capstan("reading.py", data / "cells.parquet", context.scratch / "clicks" / "train.csv", data / "clicks.csv.gz",
                                              name="reading")], rows, prepare=context.make_python)


def build(context):
    """What the build of the quickstart's programs takes where nothing has been compiled before."""
    rows = [Row("the quickstart's build, core minutes", "quickstart's build, CPU", 12, 1, less=True)]
    # Not in the network of the peers, which has nothing that a build needs.
    side = Side(CAPSTAN, [PYTHON, "-B", TURNS / "build.py"], context.environment, own=True)
    return Section("build", [side], rows, wanted=1, bound=3)


def quality(context):
    """Each example on real data: the median of three seeds, beside its bar."""
    import learning
    return learning.quality_section(context)


def matrix(context):
    """Each example under each update policy: the median of three seeds."""
    import learning
    return learning.matrix_section(context)


ALL = {"dense": dense, "sparse": sparse, "latency": latency, "deepfm": deepfm, "logistic": logistic, "dtypes": dtypes,
       "checkpoint": checkpoint, "s3": s3, "before-images": before_images, "overload": overload, "inference": inference,
       "scrape": scrape, "tls": tls,
       "memory": memory, "replicas": replicas, "failover": failover, "moves": moves, "shards": shards,
       "crowd": crowd, "large": large, "lanes": lanes, "chief": chief, "plan": plan, "python": python, "build": build,
       "quality": quality, "matrix": matrix}


def peers_program():
    return os.environ.get("CAPSTAN_PEERS") or None


if __name__ == "__main__":
    sys.exit("this is read by tests/bench/record")
