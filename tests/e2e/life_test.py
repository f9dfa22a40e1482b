"""The life of the processes: how they start, show their health, are asked to stop, park, and give up."""

import contextlib
import json
import pathlib
import resource
import signal
import socket
import sys
import tempfile
import time
import unittest

import grpc

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from crew import Crew, chief_pb2, probe, ps_pb2, run_to_end, view_pb2
from freezing import frozen
from held_port import HeldPort
from ledger import ledger_job, ledger_times, write_ledger_file

RECORDS = 3000
PACE = 4  # Milliseconds a step: a job goes on while it is looked at.
HEALTHY = {"startup": "SERVING", "liveness": "SERVING", "readiness": "SERVING"}
NEVER = 1000  # Epochs of a job that a test does not want to end.


class LateCrew(Crew):
    """Its shards come later."""

    def add_others(self):
        pass


class LifeTest(unittest.TestCase):

    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.scratch.name)
        self.data = self.folder / "records.csv"
        write_ledger_file(self.data, RECORDS)
        self.unused_port = HeldPort()
        self.nobody = self.unused_port.address  # Where nobody listens.

    def tearDown(self):
        self.unused_port.close()
        self.scratch.cleanup()

    def crew(self, update="sparse: {policy: async}", epochs=1, **settings):
        return Crew(ledger_job([self.data], update=update, epochs=epochs), **settings)

    def stop(self, crew, name, how=signal.SIGTERM):
        """Exit code and seconds until then."""
        began = time.monotonic()
        return crew.kill(name, how), time.monotonic() - began

    def stop_together(self, crew, *names):
        """As stop, of processes that each wait for a while: {process: exit code and seconds}."""
        began = time.monotonic()
        for name in names:
            crew.processes[name].send_signal(signal.SIGTERM)
        ended = {}
        while len(ended) < len(names) and time.monotonic() < began + 10:
            ended |= {name: (crew.processes[name].returncode, time.monotonic() - began)
                      for name in names if name not in ended and crew.processes[name].poll() is not None}
            time.sleep(0.01)
        return ended

    def until_at_work(self, crew, name):
        crew.until(lambda: any(w.name == name and w.state == "active" for w in crew.status().workers), f"work of {name}")

    # ---- asked to stop ----

    def test_a_worker_asked_to_stop_is_gone_in_5_s_and_others_do_its_work(self):
        for update in ("sparse: {policy: async}", "sparse: {policy: sync, lanes: 4}"):
            epochs = 8  # Long enough to be in the middle of it.
            with self.subTest(update), self.crew(update, epochs, pace=PACE) as crew:
                crew.until_examples(RECORDS // 8)
                code, seconds = self.stop(crew, "worker-0")
                self.assertEqual(code, 0)
                self.assertLess(seconds, 5)
                left = crew.status().examples
                self.assertLess(left, epochs * RECORDS, "it was asked too late")
                crew.until_examples(min(left + RECORDS // 2, epochs * RECORDS))
                crew.hurry()
                self.assertEqual(crew.wait().examples, epochs * RECORDS)
                self.assertEqual(set(ledger_times(crew.predict(self.data))), {epochs})

    def test_a_worker_stops_in_5_s_without_a_chief_that_answers(self):
        with self.crew(pace=PACE, epochs=NEVER) as crew:
            self.until_at_work(crew, "worker-0")
            with frozen(crew.processes["chief"]):
                code, seconds = self.stop(crew, "worker-0")
            self.assertEqual(code, 0)
            self.assertLess(seconds, 5)

    def test_a_worker_takes_as_long_to_stop_as_it_has_been_told(self):
        told = {"worker-2": 2, "worker-7": 7}
        with self.crew(workers=0, epochs=NEVER) as crew:
            for name, drain in told.items():
                crew.start(name, "worker", "--chief", crew.address, "--name", name, "--min-step-ms", PACE, "--drain", drain)
            for name in told:
                self.until_at_work(crew, name)
            with frozen(crew.processes["chief"]):  # So that they do not end before.
                ended = self.stop_together(crew, *told)
            self.assertEqual(set(ended), set(told))
            for name, (code, seconds) in ended.items():
                self.assertEqual(code, 0, name)
                self.assertGreater(seconds, told[name] - 0.5, name)
                self.assertLess(seconds, told[name] + 1, name)

    def test_a_second_signal_ends_a_process_at_once(self):
        with self.crew(pace=PACE, epochs=NEVER) as crew:
            self.until_at_work(crew, "worker-0")
            with frozen(crew.processes["chief"]):  # So that nothing can be given back.
                crew.processes["worker-0"].send_signal(signal.SIGTERM)
                crew.until(lambda: "draining" in crew.log("worker-0"), "the drain")
                time.sleep(0.6)  # Within half a second it would be the same request.
                code, seconds = self.stop(crew, "worker-0")
            self.assertEqual(code, 128 + signal.SIGTERM)
            self.assertLess(seconds, 3)  # The drain alone may take 4.

    def test_chief_and_shards_asked_to_stop_end_with_0(self):
        with self.crew(epochs=NEVER, exit_when_done=False) as crew:
            crew.until_examples(RECORDS // 8)
            for name in ("ps-1", "worker-1", "chief"):
                code, seconds = self.stop(crew, name, signal.SIGINT if name == "ps-1" else signal.SIGTERM)
                self.assertEqual(code, 0, name)
                self.assertLess(seconds, 5, name)
            # Without a chief they wait for one, each for some seconds.
            ended = self.stop_together(crew, "ps-0", "worker-0")
            self.assertEqual({name: code for name, (code, _) in ended.items()}, {"ps-0": 0, "worker-0": 0})
            self.assertLess(max(seconds for _, seconds in ended.values()), 5, ended)

    def test_no_process_leaves_a_core_dump_unless_it_is_told_to(self):
        resource.setrlimit(resource.RLIMIT_CORE, (resource.getrlimit(resource.RLIMIT_CORE)[1],) * 2)
        limit = resource.getrlimit(resource.RLIMIT_CORE)
        # 1: less than any file of a core, and the one limit that a core_pattern which is a pipe goes by, too.
        for flags, soft in (((), 1), (("--core-dumps",), limit[0])):
            with self.subTest(flags), self.crew(epochs=NEVER, flags=flags) as crew:
                crew.until_examples(1)
                for name, process in crew.processes.items():
                    self.assertEqual(resource.prlimit(process.pid, resource.RLIMIT_CORE), (soft, limit[1]), name)

    def test_a_worker_parks_when_the_job_is_over(self):
        with self.crew(exit_when_done=False) as crew:
            crew.until_state("COMPLETED")
            crew.until(lambda: "parked" in crew.log("worker-0"), "parking")
            before, began = crew.cpu_seconds("worker-0"), time.monotonic()
            time.sleep(3)
            used = (crew.cpu_seconds("worker-0") - before) / (time.monotonic() - began)
            self.assertLess(used, 0.01)
            self.assertEqual(crew.health("worker-0"), HEALTHY)
            self.assertEqual({w.state for w in crew.status().workers}, {"parked"})
            for name in ("worker-0", "ps-0", "chief"):
                self.assertEqual(self.stop(crew, name)[0], 0, name)

    # ---- health ----

    def test_health_follows_the_life_of_each_role(self):
        with self.crew(shards=2, workers=1, epochs=NEVER, pace=PACE) as crew:
            crew.until_examples(100)
            for name in ("chief", "ps-0", "worker-0"):
                self.assertEqual(crew.health(name), HEALTHY, name)
                with self.assertRaises(grpc.RpcError) as refused:
                    probe(crew.ports(name)["health"], "no-such-probe")
                self.assertEqual(refused.exception.code(), grpc.StatusCode.NOT_FOUND)

    def test_without_a_chief_a_process_lives_but_is_not_ready(self):
        with self.crew(shards=1, workers=1) as crew:
            crew.start("ps-9", "ps", "--chief", self.nobody, "--index", 0, "--listen", "127.0.0.1:0")
            crew.start("worker-9", "worker", "--chief", self.nobody)
            self.assertEqual(crew.health("ps-9"), {"startup": "NOT_SERVING", "liveness": "SERVING",
                                                   "readiness": "NOT_SERVING"})
            self.assertEqual(crew.health("worker-9"), {"startup": "SERVING", "liveness": "SERVING",
                                                       "readiness": "NOT_SERVING"})
            for name in ("ps-9", "worker-9"):
                self.assertEqual(self.stop(crew, name)[0], 0, name)

    def test_a_shards_start_up_is_over_when_it_serves_or_has_waited_for_long_enough(self):
        """Of two shards the second is late: none serves until all are there."""
        starting, waiting = {**HEALTHY, "startup": "NOT_SERVING", "readiness": "NOT_SERVING"}, {**HEALTHY, "readiness": "NOT_SERVING"}
        without_the_other = {600: starting, 1: waiting}
        with contextlib.ExitStack() as stack:
            crews = {}
            for patience in without_the_other:
                crews[patience] = crew = stack.enter_context(LateCrew(ledger_job([self.data]), shards=2, workers=0))
                crew.start("ps-0", "ps", "--chief", crew.address, "--index", 0, "--listen", "127.0.0.1:0",
                           "--restore-seconds", patience)
            for crew in crews.values():
                crew.until(lambda crew=crew: "registered" in crew.log("ps-0"), "registration")
            time.sleep(2)  # Twice the shorter patience.
            for patience, crew in crews.items():
                self.assertEqual(crew.health("ps-0"), without_the_other[patience], patience)
                crew.add_shard(1)
            for patience, crew in crews.items():
                crew.until(lambda crew=crew: crew.health("ps-0") == HEALTHY, "both shards")
                self.assertEqual("nothing is restored yet" in crew.log("ps-0"), patience == 1)

    # ---- starts that fail ----

    def test_every_binary_tells_its_version(self):
        for binary, name in (("chief", "chief"), ("ps", "ps"), ("worker", "worker"), ("capstan", "cli")):
            code, said = run_to_end(binary, "--version")
            self.assertEqual(code, 0)
            self.assertRegex(said, rf"^capstan {name} \d+\.\d+\.\d+")

    def test_a_port_that_is_taken_is_told_in_one_line(self):
        job = self.folder / "job.yaml"
        job.write_text(ledger_job([self.data]) + f"checkpoint: {{uri: {self.folder}/model}}\n")
        needs = {"chief": ["--job", job, "--shards", 1], "worker": ["--chief", self.nobody],
                 "ps": ["--chief", self.nobody, "--index", 0]}
        with socket.create_server(("0.0.0.0", 0)) as taken:
            port = taken.getsockname()[1]
            for binary, arguments in needs.items():
                for flag in ("--metrics-port", "--health-port", "--listen"):
                    if binary == "worker" and flag == "--listen":
                        continue
                    ports = {"--metrics-port": 0, "--health-port": 0, "--listen": "127.0.0.1:0"}
                    if binary == "worker":
                        del ports["--listen"]
                    ports[flag] = f"127.0.0.1:{port}" if flag == "--listen" else port
                    words = [word for pair in ports.items() for word in pair]
                    with self.subTest(binary=binary, flag=flag):
                        code, said = run_to_end(binary, *arguments, *words)
                        self.assertEqual(code, 2)
                        self.assertRegex(said, rf"cannot listen on \S+:{port}")
                        self.assertEqual(len(said.splitlines()), 1, said)

    def test_a_chief_that_does_not_come_is_waited_for_and_given_up(self):
        with LateCrew(ledger_job([self.data]), shards=1, workers=0) as crew:
            began = time.monotonic()
            flags = ("--chief", self.nobody, "--chief-deadline", 6)
            crew.start("ps-9", "ps", *flags, "--index", 0, "--listen", "127.0.0.1:0")
            crew.start("worker-9", "worker", *flags)
            for name in ("ps-9", "worker-9"):
                code = crew.processes[name].wait(12)
                self.assertGreater(time.monotonic() - began, 6)
                self.assertNotEqual(code, 0)
                self.assertIn("waiting for the chief", crew.log(name))
                self.assertIn(self.nobody, crew.log(name).splitlines()[-1])

    # ---- strangers and losses ----

    def test_another_wire_version_is_refused(self):
        with self.crew(shards=1, workers=1, epochs=NEVER) as crew:
            crew.until_examples(100)
            for method in ("RegisterWorker", "RegisterShard"):
                request = getattr(chief_pb2, f"{method}Request")(wire_version=99, incarnation=7)
                with self.assertRaises(grpc.RpcError) as refused:
                    crew.call(method, request, getattr(chief_pb2, f"{method}Reply"))
                self.assertEqual(refused.exception.code(), grpc.StatusCode.FAILED_PRECONDITION)
                self.assertIn("wire version 99", refused.exception.details())
            pull = ps_pb2.PullRequest()
            pull.header.wire_version = 99
            with self.assertRaises(grpc.RpcError) as refused:
                crew.call_shard("ps-0", "Pull", pull, ps_pb2.PullReply)
            self.assertEqual(refused.exception.code(), grpc.StatusCode.UNIMPLEMENTED)
            self.assertIn("wire version 99", refused.exception.details())

    # ---- logs ----

    def test_json_logs_are_json_line_by_line(self):
        with self.crew(flags=("--log-format", "json")) as crew:
            crew.wait(linger=True)
            for name in ("chief", "ps-0", "worker-0"):
                lines = [json.loads(line) for line in crew.log(name).splitlines()]
                self.assertGreater(len(lines), 1)
                for line in lines:
                    self.assertLessEqual({"ts", "level", "role", "msg"}, set(line))
                self.assertIn("started", [line["msg"] for line in lines])
                self.assertEqual({line["role"] for line in lines}, {name.split("-")[0]})


if __name__ == "__main__":
    unittest.main(verbosity=2)
