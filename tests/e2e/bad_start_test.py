"""Starts that cannot go well: the process ends at once with 2, and says which flag, key or name is to blame."""

import contextlib
import json
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from crew import BINARIES, Crew, probe, run_to_end
from ledger import ledger_job, write_ledger_file

NOBODY = "127.0.0.1:1"  # Where no chief is.
NEVER = 1000  # Epochs of a job that is not to end.


class BadStartTest(unittest.TestCase):

    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.scratch.name)
        self.data = self.folder / "records.csv"
        write_ledger_file(self.data, 100)
        self.job = self.folder / "job.yaml"
        self.job.write_text(ledger_job([self.data]) + f"checkpoint: {{uri: {self.folder}/model}}\n")

    def tearDown(self):
        self.scratch.cleanup()

    def refused(self, binary, *arguments, saying):
        with self.subTest(binary=binary, arguments=arguments):
            code, said = run_to_end(binary, *arguments)
            self.assertEqual(code, 2, said)
            self.assertRegex(said.splitlines()[0], saying)
            self.assertFalse((self.folder / "model").exists(), "something was begun")

    def test_a_number_of_shards_that_cannot_be(self):
        for number in (0, -1, 10**9, "many"):
            self.refused("chief", "--job", self.job, "--shards", number, saying=r"--shards: .*")

    def test_a_port_that_is_none(self):
        needs = {"chief": ["--job", self.job, "--shards", 1], "worker": ["--chief", NOBODY],
                 "ps": ["--chief", NOBODY, "--index", 0]}
        for binary, arguments in needs.items():
            for flag in ("--health-port", "--metrics-port"):
                for port in (-1, 70000):
                    self.refused(binary, *arguments, flag, port, saying=rf"{flag}: .*{port}")
        for binary in ("chief", "ps"):
            self.refused(binary, *needs[binary], "--listen", "127.0.0.1:70000", "--health-port", 0, "--metrics-port", 0,
                         saying="127.0.0.1:70000")

    def test_a_time_to_drain_in_which_nobody_could_be_told(self):
        for seconds in (0, -1, 0.5, "soon"):
            self.refused("worker", "--chief", NOBODY, "--drain", seconds, saying=rf"--drain: .*{seconds}")

    def test_a_hostname_without_an_ordinal(self):
        done = subprocess.run(["unshare", "--uts", "sh", "-c", 'hostname nobody && exec "$@"', "sh",
                               str(BINARIES / "ps"), "--chief", NOBODY], capture_output=True, text=True, timeout=30)
        if "unshare" in done.stderr:
            self.skipTest(f"no namespace of names on this machine: {done.stderr}")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--index: not given, and the hostname nobody ends in no ordinal", done.stdout + done.stderr)

    def test_an_ordinal_beyond_the_job_is_waited_with_and_given_up(self):
        with Crew(ledger_job([self.data]), shards=1, workers=0, overrides=["partition_count=4"]) as crew:
            began = time.monotonic()
            crew.start("ps-5", "ps", "--chief", crew.address, "--chief-deadline", 2, "--index", 5, "--listen",
                       "127.0.0.1:0")
            self.assertEqual(crew.processes["ps-5"].wait(20), 1)
            self.assertGreater(time.monotonic() - began, 2)
            self.assertIn("the job has 4 partitions; there are none for shard 5", crew.log("ps-5"))

    @contextlib.contextmanager
    def chief_that_stays(self):
        """A chief that serves refusals, once it listens: its ports."""
        ports = self.folder / "chief.ports"
        with open(self.folder / "chief.log", "w") as log:
            chief = subprocess.Popen([BINARIES / "chief", "--job", self.job, "--on-refusal=serve", "--listen", "127.0.0.1:0",
                                      "--health-port=0", "--metrics-port=0", "--ports-file", ports], stdout=log, stderr=log)
        try:
            self.until(ports.exists)
            yield json.loads(ports.read_text())
        finally:
            chief.terminate()
            self.assertEqual(chief.wait(20), 0, (self.folder / "chief.log").read_text())

    def until(self, condition):
        deadline = time.monotonic() + 60
        while not (found := condition()):
            self.assertLess(time.monotonic(), deadline, (self.folder / "chief.log").read_text())
            time.sleep(0.05)
        return found

    def status(self, ports, *words):
        return run_to_end("capstan", "status", "--chief", f"127.0.0.1:{ports['data']}", *words)

    def test_a_chief_told_to_stay_serves_its_refusal_until_the_file_is_corrected(self):
        right = self.job.read_text()
        self.job.write_text(right + "trian: {epochs: 1}\n")
        with self.chief_that_stays() as ports:
            def state():
                code, said = self.status(ports, "--json")
                return json.loads(said)["state"] if code == 0 else ""
            self.until(lambda: state() == "JOB_STATE_FAILED")
            code, said = self.status(ports, "--watch")
            self.assertEqual(code, 1, said)
            self.assertIn("trian: unknown key", said)
            self.assertEqual([probe(ports["health"], service) for service in ("startup", "liveness", "readiness")],
                             ["SERVING", "SERVING", "NOT_SERVING"])
            code, said = run_to_end("ps", "--chief", f"127.0.0.1:{ports['data']}", "--index", 0, "--listen", "127.0.0.1:0",
                                    "--health-port", 0, "--metrics-port", 0, "--chief-deadline", 1)
            self.assertIn("the chief has no job yet: ", said)
            self.job.write_text(right)
            self.until(lambda: state() == "JOB_STATE_PENDING")
            self.until(lambda: probe(ports["health"], "readiness") == "SERVING")


if __name__ == "__main__":
    unittest.main(verbosity=2)
