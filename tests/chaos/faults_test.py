"""One fault at a time: what each is to do, and how long it may take. Every job must still train each record exactly
once an epoch."""

import contextlib
import json
import os
import pathlib
import signal
import struct
import subprocess
import sys
import time
import unittest
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import grpc
import town
from crew import Crew, ps_pb2, series, watch_view
from freezing import frozen
from held_port import HeldPort
from ledger import ledger_times, write_ledger_file
from ledger_case import BATCH, LedgerCase, RECORDS
from nemesis import OVER

GRACE = 15  # Seconds: half of what Kubernetes gives.
SLOW = 200  # Milliseconds a step: training outlasts two checkpoints that fail after all their attempts.
JUMP_CLOCK = os.environ.get("CAPSTAN_JUMP_CLOCK")  # The library of jump_clock.cc.
DISK = 24 << 20
HOUR = 3600.0
MEMORY_GROUPS = pathlib.Path("/sys/fs/cgroup/memory")
ROOM, BUDGET = 160 << 20, 64 << 20
MANY = 300_000  # Records, each with a row of a kilobyte.
BIG_ROWS = """
job: memory
data: {{format: csv, train: [{data}], schema: {{label: 0, categorical: "1"}}}}
model: {{embedding_dim: 128, towers: [{{kind: linear}}, {{kind: fm}}, {{kind: bias}}], loss: logistic}}
table: {{byte_budget: {budget}}}
optimizer: {{sparse: {{kind: adagrad, learning_rate: 0.02}}}}
train: {{batch_size: 512}}
"""
# CANCELLED: the server ended with the call under way. For a worker that is as if it were gone.
REFUSED = (grpc.StatusCode.FAILED_PRECONDITION, grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.CANCELLED)


class Store:
    """store.py on loopback; `s3://town/...` for processes that are started meanwhile."""

    def __enter__(self):
        self.port = HeldPort()
        self.address = self.port.address
        self.process = subprocess.Popen([sys.executable, str(town.STORE), *self.address.split(":")])
        self.before = dict(os.environ)
        os.environ.update({"AWS_ENDPOINT_URL_S3": f"http://{self.address}", "AWS_ACCESS_KEY_ID": "town",
                           "AWS_SECRET_ACCESS_KEY": "secret-of-the-town", "CAPSTAN_S3_ALLOW_HTTP": "true"})
        deadline = time.monotonic() + 20
        while True:
            try:
                self.weather()
                return self
            except OSError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.1)

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.port.close()
        os.environ.clear()
        os.environ.update(self.before)

    def weather(self, **what):
        request = urllib.request.Request(f"http://{self.address}/-/weather", data=json.dumps(what).encode(),
                                         method="PUT")
        urllib.request.urlopen(request, timeout=5).close()


class PatientCrew(Crew):
    """Its chief sees the others off, as the chart's does."""

    def add_chief(self, listen, *flags, **named):
        super().add_chief(listen, "--grace", GRACE, *flags, **named)


class FaultsTest(LedgerCase):
    kind = PatientCrew

    # ---- asked to stop ----

    def stop_everything_at_once(self, policy):
        """What was trained is in the store, though no checkpoint was due."""
        with self.crew(policy, every="1h") as crew:
            crew.until_examples(RECORDS // 2)
            began = time.monotonic()
            for process in crew.processes.values():
                process.send_signal(signal.SIGTERM)
            for name, process in crew.processes.items():
                self.assertEqual(process.wait(GRACE), 0, f"{name}\n{crew.last_words()}")
            print(f"{policy}: all had stopped after {time.monotonic() - began:.1f} s", file=sys.stderr)
            self.assertEqual(len(crew.manifests()), 1, crew.last_words())
            crew.kill_all()
            crew.begin()
            self.assertNotEqual(crew.until_resumed(), "")
            # What was acknowledged while the checkpoint was taken is sent again, and settled by the ledgers.
            self.assertLess(sum(loss.examples for loss in crew.status().losses), RECORDS // 20)
            crew.hurry()
            self.check_exact(crew)

    def test_everything_is_asked_to_stop_at_once_async(self):
        self.stop_everything_at_once("async")

    def test_everything_is_asked_to_stop_at_once_ssp(self):
        self.stop_everything_at_once("ssp")

    def test_everything_is_asked_to_stop_at_once_sync(self):
        self.stop_everything_at_once("sync")

    def test_a_chief_asked_to_stop_alone_leaves_soon(self):
        with self.crew(every="1h") as crew:
            crew.until_examples(RECORDS // 8)
            began = time.monotonic()
            self.assertEqual(crew.kill("chief", signal.SIGTERM), 0)
            self.assertLess(time.monotonic() - began, 4)
            crew.add_again("chief")
            last = self.check_exact(crew)
            self.assertEqual(len(last.losses), 0)

    # ---- a frozen shard, and another in its place ----

    @contextlib.contextmanager
    def replaced_while_frozen(self, policy, **settings):
        """A shard is stopped until it counts as lost, another takes its place, then it is woken: it is to find out by
        itself, and end. What was sent to it meanwhile it may still read."""
        with self.crew(policy, **settings) as crew, contextlib.ExitStack() as until_woken:
            crew.until_examples(RECORDS // 8)
            crew.until(lambda: crew.status().checkpoint.taken > 0, "a checkpoint")
            old = crew.processes["ps-1"]
            self.addCleanup(old.kill)
            channel = until_woken.enter_context(grpc.insecure_channel(f"127.0.0.1:{crew.ports('ps-1')['data']}"))
            with frozen(old):
                crew.until(lambda: crew.status().shards[1].state == "lost", "that the shard is missed")
                crew.add_shard(1)
                crew.until(lambda: len(crew.status().losses) == 1, "the recovery")
                examples = crew.status().examples
                crew.until(lambda: crew.status().examples > examples + 100, "progress with the new shard")
                late = self.pull_by(watch_view(crew.address), channel)
            self.assertIn(late.exception(20).code(), REFUSED)
            self.assertNotEqual(old.wait(20), 0)
            self.assertIn("another process", crew.log("ps-1"))
            yield crew

    @staticmethod
    def pull_by(view, channel):
        """A pull of nothing, as a worker with this view would send it to shard 1, but to another process; under way."""
        request = ps_pb2.PullRequest(evaluation=True, header={
            "wire_version": 1, "epoch": view.epoch, "timeline": view.timeline,
            "target_incarnation": view.shards[1].incarnation})
        pull = channel.unary_unary("/capstan.v1.Ps/Pull", request_serializer=ps_pb2.PullRequest.SerializeToString)
        return pull.future(request, timeout=30)

    def test_a_frozen_shard_that_was_replaced_is_listened_to_by_nobody_async(self):
        with self.replaced_while_frozen("async") as crew:
            crew.hurry()
            self.check_exact(crew)

    def test_a_frozen_shard_that_was_replaced_is_listened_to_by_nobody_sync(self):
        with self.replaced_while_frozen("sync") as crew:
            crew.hurry()
            self.check_exact(crew)

    def test_a_frozen_shard_that_was_replaced_alone_adds_nothing(self):
        with self.replaced_while_frozen("async", overrides=["recovery=partial"]) as crew:
            last = crew.wait(180)
            times = ledger_times(crew.predict(self.data))
            self.assertTrue(set(times) <= {0, 1, 2}, set(times))
            self.assertLessEqual(sum(2 - each for each in times), BATCH * last.losses[0].batches)

    # ---- stores ----

    def failures(self, crew):
        """Of checkpoints, as the chief's metrics tell them."""
        return series(crew.scrape("chief"), "capstan_checkpoint_commits_total").get('result="failed"', 0)

    def goes_on_without_its_store(self, crew, break_it, mend_it):
        """Training goes on, the metric moves, the next attempt works, nothing is lost."""
        crew.until(lambda: crew.status().checkpoint.taken > 0, "a checkpoint")
        break_it()
        failures = self.failures(crew)
        crew.until(lambda: self.failures(crew) >= failures + 2, "failures of checkpoints", timeout=90)
        examples = crew.status().examples
        crew.until(lambda: crew.status().examples > examples + 100, "progress without a store")
        self.assertNotEqual(crew.status().checkpoint.last_error, "")
        taken = crew.status().checkpoint.taken
        mend_it()
        crew.until(lambda: crew.status().checkpoint.taken > taken, "the next checkpoint", timeout=90)
        self.assertEqual(len(crew.status().losses), 0)

    def in_store(self, **weather):
        with Store() as store:
            crew = self.crew(exit_when_done=False, pace=SLOW)
            crew.overrides[-1] = "checkpoint.uri=s3://town/model"
            with crew:
                self.goes_on_without_its_store(crew, lambda: store.weather(**weather), store.weather)
                crew.hurry()
                last = crew.until_state("COMPLETED", "FAILED", timeout=300)
                self.assertEqual(last.examples, 2 * RECORDS)
                self.assertEqual(set(ledger_times(crew.predict_with(last.model_uri, self.data))), {2})

    def test_training_goes_on_while_the_store_is_full(self):
        self.in_store(full=True)

    def test_training_goes_on_while_the_store_refuses_everything(self):
        self.in_store(refuse=1)

    @unittest.skipUnless(town.INSIDE in os.environ, "no namespaces can be made here, so no small disk")
    def test_training_goes_on_while_the_disk_is_full(self):
        crew = self.crew()
        disk = crew.folder / "disk"
        disk.mkdir()
        town.run("mount", "-t", "tmpfs", "-o", f"size={DISK}", "none", disk)
        crew.overrides[-1] = f"checkpoint.uri={disk / 'model'}"
        with crew:
            try:
                filler = disk / "filler"

                def fill():
                    with open(filler, "wb", buffering=0) as out:
                        while True:
                            try:
                                out.write(bytes(1 << 16))
                            except OSError:
                                return

                self.goes_on_without_its_store(crew, fill, filler.unlink)
                last = crew.wait(180)
                self.assertEqual(last.examples, 2 * RECORDS)
                self.assertEqual(set(ledger_times(crew.predict_with(last.model_uri, self.data))), {2})
            finally:
                crew.kill_all()
                town.run("umount", "--lazy", disk)

    # ---- memory ----

    @contextlib.contextmanager
    def room_of(self, most):
        """A group of processes that the kernel lets have so many bytes together; its folder."""
        room = MEMORY_GROUPS / f"capstan-{os.getpid()}"
        room.mkdir()
        try:
            (room / "memory.limit_in_bytes").write_text(str(most))
            yield room
        finally:
            deadline = time.monotonic() + 10
            while (room / "cgroup.procs").read_text() and time.monotonic() < deadline:
                time.sleep(0.05)
            room.rmdir()

    @unittest.skipUnless(os.access(MEMORY_GROUPS, os.W_OK), "no memory groups can be made here")
    def test_rows_beyond_the_budget_go_before_the_kernel_takes_the_shard(self):
        """The rows of all records would take twice what the kernel allows."""
        data = pathlib.Path(self.folder.name) / "many.csv"
        write_ledger_file(data, MANY)
        with self.room_of(ROOM) as room, \
                Crew(BIG_ROWS.format(data=data, budget=BUDGET), shards=1, workers=1, name="memory",
                     exit_when_done=False, overrides=["partition_count=16"]) as crew:
            (room / "cgroup.procs").write_text(str(crew.processes["ps-0"].pid))
            most = 0
            while crew.status().state not in OVER:
                self.assertIsNone(crew.processes["ps-0"].poll(), "the kernel has taken the shard")
                most = max(most, crew.resident_bytes("ps-0"))
                time.sleep(0.05)
            self.assertEqual(crew.status().examples, MANY)
            self.assertEqual(crew.health("ps-0"), {"startup": "SERVING", "liveness": "SERVING",
                                                   "readiness": "SERVING"})

            def counted():  # The last numbers come with the next heartbeat, and with the next look of the metrics.
                evicted = sum(series(crew.scrape("ps-0"), "capstan_embedding_evictions_total").values())
                return crew.status().shards[0].report.rows, evicted

            crew.until(lambda: sum(counted()) == MANY, "a count of every row")
            rows, evicted = counted()
            print(f"{rows} of {MANY} rows stay, {evicted:.0f} were evicted, at most {most >> 20} MiB resident of "
                  f"{ROOM >> 20}", file=sys.stderr)
            self.assertGreater(evicted, MANY // 2)
            self.assertEqual(len(crew.status().losses), 0)

    # ---- the time of day ----

    @contextlib.contextmanager
    def with_a_clock(self):
        """A crew, and what makes its time of day jump to so many seconds from the true one."""
        offset = open(pathlib.Path(self.folder.name) / "offset", "wb", buffering=0)
        self.addCleanup(offset.close)

        def jump(seconds):
            os.pwrite(offset.fileno(), struct.pack("d", seconds), 0)

        jump(0.0)
        crew = self.crew("ssp")
        for name in ("chief", "ps-0", "ps-1", "worker-0", "worker-1"):
            crew.environment[name] = {"LD_PRELOAD": JUMP_CLOCK, "CAPSTAN_CLOCK_OFFSET": offset.name}
        with crew:
            crew.until(lambda: crew.status().checkpoint.taken > 0, "a checkpoint")
            yield crew, jump

    def goes_on(self, crew):
        status = crew.status()
        crew.until(lambda: crew.status().examples > status.examples + 300, "progress", timeout=20)
        crew.until(lambda: crew.status().checkpoint.taken > status.checkpoint.taken, "a checkpoint", timeout=20)

    @unittest.skipUnless(JUMP_CLOCK, "CAPSTAN_JUMP_CLOCK names no library")
    def test_the_time_of_day_may_jump_ahead_and_back(self):
        with self.with_a_clock() as (crew, jump):
            for seconds in (HOUR, 2 * HOUR, 0.0, -2 * HOUR):
                jump(seconds)
                self.goes_on(crew)
            self.assertEqual([worker.state for worker in crew.status().workers], ["active"] * 2)
            self.assertEqual([shard.state for shard in crew.status().shards], ["serving"] * 2)
            self.assertEqual(len(crew.status().losses), 0)
            self.check_exact(crew)

    @unittest.skipUnless(JUMP_CLOCK, "CAPSTAN_JUMP_CLOCK names no library")
    def test_who_died_comes_back_after_the_time_of_day_was_set_back(self):
        """Deadlines, pauses between attempts and leases go on: those that were set before, too."""
        with self.with_a_clock() as (crew, jump):
            jump(-2 * HOUR)
            for name in ("ps-1", "worker-0", "chief"):
                crew.kill(name)
                crew.add_again(name)
                self.goes_on(crew)
            self.check_exact(crew)


if __name__ == "__main__":
    if not town.enter():
        print("no namespaces can be made here: what needs them is skipped", file=sys.stderr)
    else:
        town.run("ip", "link", "set", "lo", "up")
    unittest.main(verbosity=2)
