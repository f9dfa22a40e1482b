"""Starts that cannot go well: the process ends at once with 2, and says which flag, key or name is to blame."""

import pathlib
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from crew import BINARIES, Crew, run_to_end
from ledger import ledger_job, write_ledger_file

NOBODY = "127.0.0.1:1"  # Where no chief is.


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

    def test_a_hostname_without_an_ordinal(self):
        done = subprocess.run(["unshare", "--uts", "sh", "-c", 'hostname nobody && exec "$@"', "sh",
                               str(BINARIES / "ps"), "--chief", NOBODY], capture_output=True, text=True, timeout=30)
        if "unshare" in done.stderr:
            self.skipTest(f"no namespace of names on this machine: {done.stderr}")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--index: not given, and the hostname nobody ends in no ordinal", done.stdout + done.stderr)

    def test_an_ordinal_beyond_the_job_is_waited_with_and_given_up(self):
        with Crew(ledger_job([self.data]), shards=1, workers=0) as crew:
            crew.start("ps-5", "ps", "--chief", crew.address, "--chief-deadline", 2, "--index", 5, "--listen",
                       "127.0.0.1:0")
            self.assertNotEqual(crew.processes["ps-5"].wait(20), 0)
            self.assertIn("the job has 1 shards; there are no partitions for index 5", crew.log("ps-5"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
