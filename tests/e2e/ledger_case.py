"""What the tests share that disturb a job and count how often each record was trained."""

import pathlib
import tempfile
import unittest

from crew import Crew
from ledger import ledger_job, ledger_times, write_ledger_file

RECORDS = 6000
BATCH = 4
POLICIES = {
    "async": "sparse: {policy: async}",
    "aggregate": "sparse: {policy: async, aggregate: 3}",
    "ssp": "sparse: {policy: ssp, staleness: 2}",
    "sync": "sparse: {policy: sync, lanes: 3}",
    "backup": "sparse: {policy: sync, lanes: 4, backup_workers: 1}",
}
PACE = 5  # Milliseconds a step: two workers train for 7 s, so that several checkpoints are taken, and may be disturbed.
QUICK = 0  # Of jobs that nobody disturbs.


class LedgerCase(unittest.TestCase):
    kind = Crew

    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.data = pathlib.Path(self.folder.name) / "records.csv"
        write_ledger_file(self.data, RECORDS)

    def crew(self, policy="async", every="1s", epochs=2, batch=BATCH, overrides=(), **settings):
        """A job with checkpoints; every=None: with the last one alone."""
        overrides = ["partition_count=16", *overrides] + ([f"checkpoint.every={every}"] if every else [])
        return self.kind(ledger_job([self.data], update=POLICIES[policy], epochs=epochs, batch=batch), name=policy,
                         overrides=overrides, **{"pace": PACE, **settings})

    def check_exact(self, crew, epochs=2, timeout=180):
        """The job ends, and its model knows every record once an epoch."""
        last = crew.wait(timeout)
        self.assertEqual(last.examples, epochs * RECORDS)
        self.assertEqual(set(ledger_times(crew.predict(self.data))), {epochs})
        return last
