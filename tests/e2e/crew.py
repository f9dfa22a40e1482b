"""A job's real processes on loopback, for the end-to-end tests.

    with Crew(job, shards=2, workers=3) as crew:
        crew.kill("worker-1")
        crew.wait()                      # until the job is over; fails with the culprit's log
        crew.final("auc")

Only the binaries and what they offer to anybody are used: their flags, ports files, RPCs and metrics.
"""

import contextlib
import importlib
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request

import grpc

from ending import held, unwind_at_sigterm
from held_port import HeldPort

BINARIES = pathlib.Path(os.environ["CAPSTAN_BIN"])
PROTO = pathlib.Path(os.environ["CAPSTAN_PROTO"])
DATA = pathlib.Path(os.environ.get("CAPSTAN_DATA") or pathlib.Path(__file__).resolve().parents[2] / "data").resolve()
LINE_SECONDS = 0.05
CHIEF_PATIENCE_SECONDS = 60  # With one that runs and does not answer yet.


def _load_messages():
    """protoc's Python classes of chief.proto, generated into a scratch folder."""
    folder = tempfile.mkdtemp(prefix="capstan-proto-")
    sources = [str(p) for p in sorted((PROTO / "capstan" / "v1").glob("*.proto"))]
    subprocess.run(["protoc", f"-I{PROTO}", f"--python_out={folder}", *sources], check=True)
    sys.path.insert(0, folder)
    module = importlib.import_module("capstan.v1.chief_pb2")
    view = importlib.import_module("capstan.v1.view_pb2")
    ps = importlib.import_module("capstan.v1.ps_pb2")
    job = importlib.import_module("capstan.v1.job_pb2")
    shutil.rmtree(folder)
    return module, view, ps, job


chief_pb2, view_pb2, ps_pb2, job_pb2 = _load_messages()
unwind_at_sigterm()


def run_to_end(binary, *arguments, timeout=30):
    """A process of its own that is to end by itself: its exit code, and what it said."""
    done = subprocess.run([str(word) for word in (BINARIES / binary, *arguments)], timeout=timeout,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout


def has_failpoints():
    """Whether the programs are built with the CMake option CAPSTAN_FAILPOINTS."""
    return b"capstan_failpoints" in (BINARIES / "ps").read_bytes()


def probe(port, service):
    """SERVING or NOT_SERVING, by grpc.health.v1; a grpc.RpcError if there is no such service."""
    request = b"\x0a" + bytes([len(service)]) + service.encode()
    with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
        reply = channel.unary_unary("/grpc.health.v1.Health/Check")(request, timeout=5)
    return {b"\x08\x01": "SERVING", b"\x08\x02": "NOT_SERVING"}[reply]


def watch_view(address, channel=None):
    """The present view, once it maps partitions to shards; over a plaintext channel, or this one, which it closes."""
    with channel or grpc.insecure_channel(address) as channel:
        watch = channel.unary_stream("/capstan.v1.Chief/WatchView",
                                     request_serializer=chief_pb2.WatchViewRequest.SerializeToString,
                                     response_deserializer=view_pb2.View.FromString)
        for view in watch(chief_pb2.WatchViewRequest(), timeout=20, wait_for_ready=True):
            if view.owners:
                return view


class Crew:
    """`job` is the text of a job file; its checkpoint URI is a folder of the crew's own. `flags`: further
    arguments of every process, `chief_flags` and `shard_flags`: of the chief, of every shard. `pace`: how many milliseconds each worker takes for a step
    at the least, or {worker: milliseconds}; so a job lasts long enough on any machine. Unless `exit_when_done`, the
    chief stays when the job is over."""

    def __init__(self, job, shards=2, workers=2, overrides=(), pace=0, name="crew", flags=(),
                 exit_when_done=True, chief_flags=(), shard_flags=()):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix=f"capstan-{name}-"))
        self.job_file = self.folder / "job.yaml"
        self.job_file.write_text(job)
        self.overrides = [*overrides, f"checkpoint.uri={self.folder / 'model'}"]
        self.shards, self.workers, self.pace = shards, workers, pace
        self.flags, self.exit_when_done = flags, exit_when_done
        self.chief_flags, self.shard_flags = chief_flags, shard_flags  # Also of those that come later.
        self.metrics_ports = {}  # {process: port}; the others have any that is free.
        self.environment = {}  # {process: {variable: value}}, besides what this process has.
        self.processes = {}
        self.ports_held = []  # Of chiefs: one that comes after another listens at the same address.
        self._channel = None

    def __enter__(self):
        try:
            self.begin()
            return self
        except BaseException:
            self.__exit__(*sys.exc_info())
            raise

    def __exit__(self, kind, value, trace):
        # Nothing is said of how they end here: asked to stop, those that need a chief would wait seconds for one that has stopped.
        self.kill_all()
        for port in self.ports_held:
            port.close()
        if kind is None:
            shutil.rmtree(self.folder)
        else:
            print(f"the logs are in {self.folder}", file=sys.stderr)

    # ---- processes ----

    def begin(self, *chief_flags):
        """The whole crew."""
        self.ports_held.append(HeldPort())
        self.address = self.ports_held[-1].address
        self.add_chief(self.address, *chief_flags)
        self.ports("chief")
        self.add_others()

    def add_others(self):
        for index in range(self.shards):
            self.add_shard(index)
        for index in range(self.workers):
            self.add_worker(f"worker-{index}")

    def add_chief(self, listen, *flags, name="chief"):
        settings = [word for value in self.overrides for word in ("--set", value)]
        self.start(name, "chief", "--job", self.job_file, "--shards", self.shards,
                   *(["--exit-when-done"] if self.exit_when_done else []),
                   "--listen", listen, *self.chief_flags, *flags, *settings)

    def begin_again(self):
        """The whole crew, at the address of the chief before; it may not come up."""
        self.add_chief(self.address)
        self.add_others()

    def add_again(self, name):
        """A process in the place of one that has ended."""
        role, _, index = name.rpartition("-")
        if name == "chief":
            self.add_chief(self.address)
        elif role == "ps":
            self.add_shard(int(index))
        else:
            self.add_worker(name)

    def restart_chief(self):
        """kill -9, and another at the same address."""
        self.kill("chief")
        self.add_chief(self.address)

    def restart_shard(self, index):
        self.kill(f"ps-{index}")
        self.add_shard(index)

    def kill_all(self):
        for process in self.processes.values():
            if process.poll() is None:
                process.kill()
        for process in self.processes.values():
            process.wait(10)
        self.hang_up()

    def binaries(self, name):
        """The folder of the program that this process runs."""
        return BINARIES

    def start(self, name, binary, *arguments):
        self.ports_file(name).unlink(missing_ok=True)
        command = [self.binaries(name) / binary, "--health-port", 0, "--metrics-port", self.metrics_ports.get(name, 0),
                   "--ports-file", self.ports_file(name), *self.flags, *arguments]
        with held(), open(self.folder / f"{name}.log", "ab") as log:
            self.processes[name] = subprocess.Popen([str(word) for word in command], stdout=log,
                                                    stderr=log, stdin=subprocess.DEVNULL,
                                                    env={**os.environ, **self.environment.get(name, {})})

    def add_shard(self, index):
        self.start(f"ps-{index}", "ps", "--chief", self.address, "--index", index,
                   "--listen", "127.0.0.1:0", *self.shard_flags)

    def add_worker(self, name):
        pace = self.pace.get(name, 0) if isinstance(self.pace, dict) else self.pace
        self.start(name, "worker", "--chief", self.address, "--name", name,
                   *(["--min-step-ms", pace] if pace else []))

    def hurry(self):
        """Quick workers train what is left, in the place of the slow ones: of a job that nothing befalls any more."""
        self.pace = 0
        for index in range(2):
            self.add_worker(f"quick-{index}")
        slow = [self.processes[f"worker-{index}"] for index in range(self.workers)]
        for worker in slow:
            worker.send_signal(signal.SIGTERM)
        for worker in slow:  # All at once: the chief of a job that is over does not wait long for who asks about it.
            worker.wait(10)

    @staticmethod
    def stop(processes):
        for process in processes:
            if process.poll() is None:
                process.terminate()
        deadline = time.monotonic() + 8
        for process in processes:
            try:
                process.wait(max(0.1, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def kill(self, name, how=signal.SIGKILL):
        self.processes[name].send_signal(how)
        return self.processes[name].wait(10)

    def ports_file(self, name):
        return self.folder / f"{name}.ports"

    def ports(self, name):
        self.until(lambda: self.ports_file(name).exists(), f"the ports of {name}", timeout=20)
        return json.loads(self.ports_file(name).read_text())

    def log(self, name):
        return (self.folder / f"{name}.log").read_text(errors="replace")

    # ---- what is so ----

    def hang_up(self):
        """A connection that is not used does not hear of its server's end, which then waits for it."""
        if self._channel is not None:
            self._channel.close()
            self._channel = None

    def connect(self, role, address):
        """A channel to a process in that role."""
        return grpc.insecure_channel(address)

    def call(self, method, request, reply):
        if self._channel is None:
            self._channel = self.connect("chief", self.address)
        stub = self._channel.unary_unary(f"/capstan.v1.Chief/{method}",
                                         request_serializer=type(request).SerializeToString,
                                         response_deserializer=reply.FromString)
        deadline = time.monotonic() + CHIEF_PATIENCE_SECONDS
        while True:
            try:
                return stub(request, timeout=5, wait_for_ready=True)
            except grpc.RpcError as error:  # Killed while it answered; or another has come, and looks at its data first.
                gone = self.processes["chief"].poll() is not None or time.monotonic() > deadline
                if error.code() not in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED) or gone:
                    raise
            time.sleep(0.1)

    def until_resumed(self):
        """Waits until a job whose processes were all started again goes on from a checkpoint; returns that."""
        self.until(lambda: self.status().checkpoint.restores == 1, "the return to a checkpoint")
        return self.status().resumed_from

    def status(self):
        return self.call("GetStatus", chief_pb2.GetStatusRequest(), chief_pb2.GetStatusReply)

    def call_shard(self, name, method, request, reply):
        with self.connect("ps", f"127.0.0.1:{self.ports(name)['data']}") as channel:
            stub = channel.unary_unary(f"/capstan.v1.Ps/{method}",
                                       request_serializer=type(request).SerializeToString,
                                       response_deserializer=reply.FromString)
            return stub(request, timeout=5, wait_for_ready=True)

    def health(self, name):
        """{probe: SERVING or NOT_SERVING}"""
        port = self.ports(name)["health"]
        return {service: probe(port, service) for service in ("startup", "liveness", "readiness")}

    def cpu_seconds(self, name):
        """CPU time that the process has used, all threads."""
        tasks = pathlib.Path(f"/proc/{self.processes[name].pid}/task").glob("*/schedstat")
        return sum(int(task.read_text().split()[0]) for task in tasks) / 1e9

    def resident_bytes(self, name):
        pages = pathlib.Path(f"/proc/{self.processes[name].pid}/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")

    @contextlib.contextmanager
    def room_for(self, name, more):
        """The process may open so many more files meanwhile; a function that says whether it could open another one."""
        pid = self.processes[name].pid
        soft, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        limit = len(os.listdir(f"/proc/{pid}/fd")) + more
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (limit, hard))
        try:
            yield lambda: len(os.listdir(f"/proc/{pid}/fd")) < limit
        finally:
            resource.prlimit(pid, resource.RLIMIT_NOFILE, (soft, hard))

    def until(self, condition, what, timeout=60):
        deadline = time.monotonic() + timeout
        while not condition():
            if time.monotonic() > deadline:
                raise AssertionError(f"{what} did not come within {timeout} s\n{self.last_words()}")
            if self.processes["chief"].poll() not in (None, 0):
                raise AssertionError(f"the chief ended while waiting for {what}\n{self.last_words()}")
            time.sleep(LINE_SECONDS)

    def until_state(self, *states, timeout=60):
        """Until the job is in one of the states, by their names without JOB_STATE_; the status."""
        wanted = {view_pb2.JobState.Value(f"JOB_STATE_{state}") for state in states}
        self.until(lambda: self.status().state in wanted, " or ".join(states), timeout)
        return self.status()

    def until_checkpoints(self, count, timeout=60):
        self.until(lambda: len(self.manifests()) >= count, f"{count} checkpoints", timeout)

    def until_examples(self, count, timeout=60):
        self.until(lambda: self.status().examples >= count, f"{count} examples", timeout)

    def wait(self, timeout=120, expect=0, linger=False):
        """Until the job is over; its last status is kept. The chief ends at once, or, if it may `linger`, by itself."""
        deadline = time.monotonic() + timeout
        chief = self.processes["chief"]
        last = None
        while chief.poll() is None and time.monotonic() < deadline:
            try:
                last = self.status()
            except grpc.RpcError:
                pass
            if last and last.state in (view_pb2.JOB_STATE_COMPLETED, view_pb2.JOB_STATE_FAILED):
                if not linger:
                    self.hang_up()
                    chief.terminate()
                break
            time.sleep(LINE_SECONDS)
        self.last = last
        try:
            code = chief.wait(max(1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            raise AssertionError(f"the job was not over after {timeout} s: {last}\n{self.last_words()}")
        if code != expect:
            raise AssertionError(f"the chief ended with {code}, expected {expect}\n{self.last_words()}")
        return last

    def last_words(self):
        return "\n".join(f"--- {name}\n" + "\n".join(self.log(name).splitlines()[-15:])
                         for name in self.processes)

    def final(self, metric):
        for evaluation in reversed(self.last.evaluations):
            if metric in evaluation.metrics:
                return evaluation.metrics[metric]
        raise AssertionError(f"no evaluation with {metric}: {self.last}")

    def scrape(self, name):
        port = self.ports(name)["metrics"]
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=5) as answer:
            return answer.read().decode()

    # ---- the model ----

    def manifests(self):
        return sorted(self.folder.glob("model/*/checkpoints/*/MANIFEST.json"))

    def manifest(self):
        found = self.manifests()
        if not found:
            raise AssertionError("no manifest was written")
        return found[-1]

    def fingerprint(self):
        """Bytes and checksum of every partition's file: equal for models that are equal bit by bit."""
        files = json.loads(self.manifest().read_text())["files"]
        return sorted((f.get("partition", 0), f["bytes"], f["crc32c"]) for f in files)

    def predict(self, data_file):
        """The model's scores for the records of a file, by `capstan predict`."""
        return self.predict_with(self.manifest().parent, data_file)

    def predict_with(self, model, data_file):
        said = subprocess.check_output([BINARIES / "capstan", "predict", model, data_file], stderr=subprocess.DEVNULL, text=True)
        return [float(line.split(",")[-1]) for line in said.splitlines()]


def series(text, name):
    """{labels: value} of one metric of a scrape."""
    lines = re.finditer(rf"^{re.escape(name)}(?:\{{(.*)\}})? (\S+)$", text, re.MULTILINE)
    return {line[1] or "": float(line[2]) for line in lines}
