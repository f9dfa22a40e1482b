"""deploy/unpack-capstan: the command out of an image's files runs on a machine that has none of its libraries."""

import os
import pathlib
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
CAPSTAN = pathlib.Path(os.environ["CAPSTAN_BIN"]) / "capstan"


class UnpackTest(unittest.TestCase):

    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.scratch.name)

    def tearDown(self):
        self.scratch.cleanup()

    def unpack(self, files):
        archive = subprocess.run(["tar", "-C", files, "-c", "."], capture_output=True, check=True).stdout
        return subprocess.run([ROOT / "deploy/unpack-capstan", self.folder / "capstan"], input=archive, capture_output=True)

    def test_the_command_runs_with_the_libraries_of_its_image_and_no_other(self):
        image = self.folder / "image"
        subprocess.run([ROOT / "deploy/lib/copy_closure", CAPSTAN, image], check=True)
        done = self.unpack(image)
        self.assertEqual(done.returncode, 0, done.stderr)
        program = self.folder / "capstan/capstan"
        said = subprocess.run([program, "status", "--chief", "127.0.0.1:1", "--wait", "0"], capture_output=True, text=True,
                              env={"PATH": os.environ["PATH"], "LD_DEBUG": "files"})
        self.assertIn("chief at 127.0.0.1:1", said.stdout + said.stderr)
        loaded = [line.rsplit(" ", 1)[-1] for line in said.stderr.splitlines() if "calling init: /" in line]
        own = [one.startswith(str(self.folder / "capstan/image")) for one in loaded]
        self.assertIn(True, own)
        self.assertNotIn(False, own[own.index(True):], "those before are the shell's")

    def test_another_archive_is_refused(self):
        (self.folder / "empty").mkdir()
        done = self.unpack(self.folder / "empty")
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"holds no usr/bin/capstan", done.stderr)


if __name__ == "__main__":
    unittest.main(verbosity=2)
