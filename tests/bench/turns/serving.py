"""A chief and shards, as processes, for a client that is measured: the shards on core 0, the rest elsewhere."""

import contextlib
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "e2e"))
from crew import BINARIES, Crew, chief_pb2, watch_view

PARTITIONS = 256
ADAGRAD = "{{kind: adagrad, learning_rate: {rate}, initial_accumulator: 0.1, epsilon: 1e-10}}"
SPARSE = """
job: dataplane
data: {{format: csv, train: [{data}], schema: {{label: 0, categorical: "1"}}}}
model: {{embedding_dim: {dim}, towers: [{{kind: fm}}], loss: logistic}}
optimizer: {{sparse: {optimizer}}}
"""
DENSE = """
job: dataplane
data: {{format: csv, train: [{data}], schema: {{label: 0, numeric: "1-{columns}"}}}}
model: {{towers: [{{kind: mlp, hidden: [{hidden}]}}], loss: logistic}}
optimizer: {{dense: {optimizer}}}
"""


def sparse_job(data, dim=64):
    """One table of rows of `dim` floats, with Adagrad as P3 wants it."""
    data.write_text("1,a\n")
    return SPARSE.format(data=data, dim=dim, optimizer=ADAGRAD.format(rate=0.02))


def dense_job(data, mebibytes, adagrad):
    """A dense part of `mebibytes`, but for a few floats: a layer of 8192 inputs, and one that adds its outputs up."""
    columns = 8192
    hidden = ((mebibytes << 18) - 1) // (columns + 2)
    data.write_text("1" + ",0.5" * columns + "\n")
    optimizer = ADAGRAD.format(rate=0.01) if adagrad else "{kind: sgd, learning_rate: 0.01}"
    return DENSE.format(data=data, columns=columns, hidden=hidden, optimizer=optimizer)


def pin(pid, core):
    """All threads of a process, and those that they start."""
    for task in os.listdir(f"/proc/{pid}/task"):
        os.sched_setaffinity(int(task), {core})


class Served:
    """What a client has to know: a folder with job and view, and the processes that serve it, the shards first."""

    def __init__(self, crew, folder):
        self.crew, self.folder = crew, folder
        self.servers = [crew.processes[name].pid for name in crew.processes if name.startswith("ps-")]
        self.servers.append(crew.processes["chief"].pid)

    def environment(self):
        return {**os.environ, "CAPSTAN_BENCH_SERVERS": ",".join(str(pid) for pid in self.servers)}

    def command(self, *parts):
        return [str(BINARIES / "dataplane"), str(self.folder), *parts]

    def measure(self, *parts):
        subprocess.run(self.command(*parts), env=self.environment(), check=True)


class StoredCrew(Crew):
    """A crew whose checkpoints are at `uri`, if it is given."""

    def __init__(self, job, uri=None, **settings):
        super().__init__(job, **settings)
        if uri:
            self.overrides.append(f"checkpoint.uri={uri}")


def paired(status):
    """Whether every partition has as many backups as the job wants."""
    return status.replicas.unpaired == 0 and (status.replicas.paired > 0 or not status.replicas.wanted)


def describe(crew, folder):
    """Writes what a client has to know."""
    crew.until_state("RUNNING")  # An earlier view names the shard while it still makes its partitions.
    crew.until(lambda: paired(crew.status()), "a backup of each partition")
    # Who asks as a worker is told the job. It gets no lease, as it never reports, and is forgotten.
    job = crew.call("RegisterWorker", chief_pb2.RegisterWorkerRequest(wire_version=1, name="bench", incarnation=1),
                    chief_pb2.RegisterWorkerReply).job
    (folder / "job.binpb").write_bytes(job.SerializeToString())
    (folder / "view.binpb").write_bytes(watch_view(crew.address).SerializeToString())


@contextlib.contextmanager
def serving(make_job, overrides=(), uri=None, shards=1):
    """A job that nobody trains. `make_job` is given a path for its data."""
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        with StoredCrew(make_job(folder / "data.csv"), uri, shards=shards, workers=0, name="bench",
                        overrides=[f"partition_count={PARTITIONS}", *overrides]) as crew:
            describe(crew, folder)
            if os.environ.get("PEERS_PIN") != "0":
                for shard in range(shards):
                    pin(crew.processes[f"ps-{shard}"].pid, 0)
            yield Served(crew, folder)
