"""A rolling upgrade: the processes of a running job are replaced one after the other, each asked to stop. Those that
begin are of CAPSTAN_OLD_BIN, a folder with the programs of an earlier version, if it is set (rolling_upgrade_from sets it); otherwise
both are of the present one, and what is shown is that replacing them loses nothing. That two versions understand each other is shown apart, as far as
it can be without the programs of both: unit_wire/compatibility (numbers and types of fields, values and methods),
ReaderTest.SkipsUnknownFieldsOfEveryWireType (what a later version adds), GoldenTest (what an earlier one has stored)."""

import os
import pathlib
import signal
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
from crew import BINARIES, Crew
from ledger_case import LedgerCase, RECORDS

OLD = pathlib.Path(os.environ.get("CAPSTAN_OLD_BIN", BINARIES))
EPOCHS = 3
STEP_MS = 5  # So that training takes longer than the upgrade, on any machine.


class UpgradedCrew(Crew):
    def begin(self, *chief_flags):
        self.upgraded = set()
        super().begin(*chief_flags)

    def binaries(self, name):
        return BINARIES if name in self.upgraded else OLD

    def add_worker(self, name):
        self.start(name, "worker", "--chief", self.address, "--name", name, "--min-step-ms", STEP_MS)

    def upgrade(self, name):
        self.upgraded.add(name)
        code = self.kill(name, signal.SIGTERM)
        if code != 0:
            raise AssertionError(f"{name}, asked to stop, ended with {code}\n{self.last_words()}")
        self.add_again(name)
        self.hang_up()
        self.until(self.is_whole, f"everybody, after {name}")

    def is_whole(self):
        status = self.status()
        return ([shard.state for shard in status.shards] == ["serving"] * self.shards
                and [worker.state for worker in status.workers].count("active") == self.workers)


class RollingUpgradeTest(LedgerCase):
    kind = UpgradedCrew

    def upgrades(self, policy, order):
        with self.crew(policy, epochs=EPOCHS) as crew:
            crew.until_checkpoints(1)
            for name in order:
                crew.upgrade(name)
            status = crew.status()
            self.assertLess(status.examples, status.examples_expected, "the job was over before the upgrade was")
            again = [loss.examples for loss in self.check_exact(crew, epochs=EPOCHS).losses]
            if OLD == BINARIES:
                # A shard that is asked to stop hands over what it has, and is given its share when it is back.
                self.assertEqual(again, [])
            else:
                # Earlier versions may have saved instead: this was acknowledged while the checkpoint was taken.
                print(f"{policy}: trained again {again}", file=sys.stderr)
                self.assertLess(max(again, default=0), RECORDS // 10)

    def test_async_the_chief_first(self):
        self.upgrades("async", ("chief", "ps-0", "worker-0", "ps-1", "worker-1"))

    def test_sync_the_workers_first(self):
        self.upgrades("sync", ("worker-0", "worker-1", "ps-1", "ps-0", "chief"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
