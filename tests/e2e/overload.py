"""A shard that is offered more than it can do: pulls that do not wait for the answers to those before."""

import collections
import contextlib
import multiprocessing
import os
import pathlib
import random
import tempfile
import threading
import time
import urllib.request

import grpc

from crew import Crew, probe, ps_pb2, watch_view

PULL = "/capstan.v1.Ps/Pull"
RETRY_HINT = "grpc-retry-pushback-ms"
CONNECTIONS = 8
KEYS = 1 << 14  # Of one pull: 128 KiB, answered with 9 floats a key.
JOB = """
job: overload
data: {{format: csv, train: [{data}], schema: {{label: 0, categorical: "1"}}}}
model: {{embedding_dim: 8, towers: [{{kind: linear}}, {{kind: fm}}, {{kind: bias}}], loss: logistic}}
"""


@contextlib.contextmanager
def lonely_shard():
    """A crew of a chief and a shard that serves, with the view. Nobody trains."""
    with tempfile.NamedTemporaryFile(suffix=".csv") as data:
        data.write(b"1,a\n")
        data.flush()
        with Crew(JOB.format(data=data.name), shards=1, workers=0, name="overload",
                  overrides=["partition_count=4"]) as crew:
            view = watch_view(crew.address)  # It may name a shard that still loads its partitions.
            crew.until(lambda: crew.health("ps-0")["readiness"] == "SERVING", "a shard that serves")
            yield crew, view


def pull_of_many_rows(view):
    """A request, ready to be sent. The shard says itself which keys are of its first partition."""
    request = ps_pb2.PullRequest(evaluation=True, header={
        "wire_version": 1, "epoch": view.epoch, "timeline": view.timeline,
        "target_incarnation": view.shards[0].incarnation})
    rows = request.partitions.add().tables.add(table=0)
    keys = []
    with grpc.insecure_channel(view.shards[0].address) as channel:
        pull = channel.unary_unary(PULL)
        while len(keys) < 16:
            rows.keys = random.randbytes(8)
            try:
                pull(request.SerializeToString(), timeout=10)
                keys.append(rows.keys)
            except grpc.RpcError as error:
                if error.code() != grpc.StatusCode.FAILED_PRECONDITION:  # It lives in another partition.
                    raise
    rows.keys = b"".join(keys) * (KEYS // len(keys))
    return request.SerializeToString()


class Load:
    """Calls over several connections. `outcomes`: how many ended with which status; those later than `patience`
    seconds are nobody's any more (DEADLINE_EXCEEDED)."""

    def __init__(self, view, patience=2.0):
        self.request, self.patience = pull_of_many_rows(view), patience
        self.channels = [grpc.insecure_channel(view.shards[0].address, [("grpc.use_local_subchannel_pool", 1)])
                         for _ in range(CONNECTIONS)]
        self.calls = [channel.unary_unary(PULL) for channel in self.channels]
        self.changed = threading.Condition()
        self.sent = self.ended = 0
        self.reset()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for channel in self.channels:
            channel.close()

    def reset(self):
        with self.changed:
            self.outcomes, self.hints, self.seconds = collections.Counter(), 0, []

    def send(self):
        began = time.monotonic()
        call = self.calls[self.sent % CONNECTIONS].future(self.request, timeout=self.patience)
        self.sent += 1
        call.add_done_callback(lambda done: self.count(done, time.monotonic() - began))

    def count(self, done, seconds):
        hint = any(name == RETRY_HINT for name, _ in done.trailing_metadata() or ())
        with self.changed:
            self.ended += 1
            self.outcomes[done.code().name] += 1
            self.hints += hint
            if done.code() == grpc.StatusCode.OK:
                self.seconds.append(seconds)
            self.changed.notify()

    def wait_for(self, under_way):
        """Until no more calls than that have not ended."""
        with self.changed:
            return self.changed.wait_for(lambda: self.sent - self.ended <= under_way, timeout=30)

    def closed(self, seconds, under_way=16):
        """So many calls at a time. Answers a second."""
        self.wait_for(0)
        self.reset()
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.wait_for(under_way - 1)
            self.send()
        return self.outcomes["OK"] / seconds

    def open(self, rate, seconds):
        """`rate` calls a second, whatever becomes of them. Answers a second."""
        self.wait_for(0)
        self.reset()
        begin = time.monotonic()
        for number in range(int(rate * seconds)):
            time.sleep(max(0, begin + number / rate - time.monotonic()))
            self.send()
        took = time.monotonic() - begin
        answers = self.outcomes["OK"]
        self.wait_for(0)
        return answers / took


class Observer:
    """A process of its own that asks for health and metrics again and again, and looks at the memory."""

    def __init__(self, crew, name="ps-0"):
        ports = crew.ports(name)
        fresh = multiprocessing.get_context("spawn")  # gRPC's threads do not survive a fork.
        self.stop = fresh.Event()
        self.pipe, theirs = fresh.Pipe()
        statm = f"/proc/{crew.processes[name].pid}/statm"
        self.process = fresh.Process(target=self.observe, args=(ports, statm, self.stop, theirs), daemon=True)

    def __enter__(self):
        self.process.start()
        self.pipe.recv()  # It has begun.
        return self

    def __exit__(self, *_):
        """`health`, `metrics`: the seconds each took; `resident`: bytes."""
        self.stop.set()
        self.health, self.metrics, self.resident = self.pipe.recv()
        self.process.join()

    @staticmethod
    def observe(ports, statm, stop, pipe):
        health, metrics, resident = [], [], []
        pipe.send("begun")
        while not stop.wait(0.02):
            began = time.monotonic()
            probe(ports["health"], "liveness")
            between = time.monotonic()
            with urllib.request.urlopen(f"http://127.0.0.1:{ports['metrics']}/metrics", timeout=30) as answer:
                answer.read()
            health.append(between - began)
            metrics.append(time.monotonic() - between)
            resident.append(int(pathlib.Path(statm).read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE"))
        pipe.send((health, metrics, resident))
