"""A program of the tests that is asked to end ends what it has started, also what it is just about to start."""

import pathlib
import signal
import subprocess
import sys
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from crew import Crew


class EndingTest(unittest.TestCase):

    def setUp(self):
        self.addCleanup(signal.signal, signal.SIGTERM, signal.getsignal(signal.SIGTERM))

    def test_a_process_that_begins_when_the_end_is_asked_for_is_known_before(self):
        begin = subprocess.Popen

        def asked_meanwhile(*words, **more):
            process = begin(*words, **more)
            signal.raise_signal(signal.SIGTERM)
            return process

        crew = Crew("job: of nobody")
        self.addCleanup(crew.__exit__, None, None, None)
        with mock.patch.object(subprocess, "Popen", asked_meanwhile), self.assertRaises(KeyboardInterrupt):
            crew.start("worker-0", "worker", "--version")
        self.assertEqual(list(crew.processes), ["worker-0"])

    def test_who_is_asked_again_ends_in_peace(self):
        with self.assertRaises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGTERM)


if __name__ == "__main__":
    unittest.main(verbosity=2)
