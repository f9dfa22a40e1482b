"""A disk that is full: the reason is told while the job waits, nothing of failed saves stays, and with room again all is well."""

import contextlib
import os
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from crew import Crew
from ledger_case import LedgerCase, RECORDS

VOLUME = 1 << 20
LEFT = 64 << 10  # Room for the chief's state; a checkpoint of this job takes more.


class CrewOnSmallVolume(Crew):

    def begin(self, *chief_flags):
        self.volume = self.folder / "model"
        self.volume.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={VOLUME}", "tmpfs", self.volume], check=True)
        super().begin(*chief_flags)

    def __exit__(self, kind, value, trace):
        self.kill_all()
        subprocess.run(["umount", "-l", self.volume], check=True)
        super().__exit__(kind, value, trace)

    def used(self):
        """Of the files that are there; some go while they are counted."""
        used = 0
        for folder, _, names in os.walk(self.volume):
            for name in names:
                with contextlib.suppress(FileNotFoundError):
                    used += os.lstat(os.path.join(folder, name)).st_size
        return used


def may_mount():
    return subprocess.run(["unshare", "--mount", "mount", "-t", "tmpfs", "tmpfs", "/mnt"],
                          capture_output=True).returncode == 0


class FullDiskTest(LedgerCase):
    kind = CrewOnSmallVolume

    def test_a_full_disk_is_told_and_room_ends_the_wait(self):
        with self.crew(every=None) as crew:
            ballast = crew.volume / "ballast"
            crew.until_examples(RECORDS // 8)
            ballast.write_bytes(bytes(VOLUME - crew.used() - LEFT))
            crew.until_state("CHECKPOINTING", timeout=180)
            crew.until(lambda: "No space left on device" in crew.status().waiting_for, "the reason", timeout=10)
            crew.until(lambda: crew.status().checkpoint.failures >= 3, "more attempts", timeout=60)
            self.assertRegex(crew.status().checkpoint.last_error, r"^partition-\d+\.capstan: No space left on device$")
            crew.until(lambda: crew.used() - ballast.stat().st_size < 2 * LEFT,
                       "what failed attempts have left to go", timeout=20)
            ballast.unlink()
            self.check_exact(crew)


if __name__ == "__main__":
    if not may_mount():
        print("SKIPPED: this process may not mount a volume", file=sys.stderr)
        sys.exit(77)
    unittest.main(verbosity=2)
