"""Workers that are asked to leave (a smaller Deployment, a drained node) are missed by nobody.

Whatever a worker holds, a lane, a task or nothing at all, the chief hears that it leaves before its process ends: no
lease has to run out, and the others go on meanwhile.
"""

import pathlib
import signal
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from ledger_case import LedgerCase

LEASE = 20.0  # Seconds; a worker that leaves without a word holds the others up for so long.
STEPS = 20  # What the others are to train after those have left, well before a lease would be over.


class LeaveTest(LedgerCase):

    def workers_leave(self, policy, workers, leaving):
        """Nobody waits for them, none is missed, and every record is trained once."""
        overrides = [f"worker_lease={LEASE}s", "heartbeat=1s"]
        with self.crew(policy, workers=workers, overrides=overrides) as crew:
            crew.until(lambda: len(crew.status().workers) == workers, "every worker", 30)
            crew.until_examples(200)
            for name in leaving:
                crew.processes[name].send_signal(signal.SIGTERM)
            left = crew.status().global_step
            crew.until(lambda: crew.status().global_step >= left + STEPS, "steps of those that stay", LEASE / 2)
            for name in leaving:
                self.assertEqual(crew.processes[name].wait(10), 0)
            status = crew.status()
            self.assertNotIn("lost", [worker.state for worker in status.workers])
            self.assertEqual(status.tasks.expirations, 0)
            self.check_exact(crew)

    def test_of_five_workers_of_a_synchronous_job_the_idle_two_and_one_with_a_lane_leave(self):
        # Three lanes: two workers have none, whichever they are, so at least one of these four has one, and one none.
        self.workers_leave("sync", 5, ["worker-1", "worker-2", "worker-3", "worker-4"])

    def test_workers_of_a_stale_synchronous_job_leave(self):
        self.workers_leave("ssp", 5, ["worker-2", "worker-3", "worker-4"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
