"""The programs that docs/python.md shows whole, with their job.yaml and the commands below them, as they stand there; the data are made here."""

import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
from python_data import ROOT, skip_if_lacking, write_likes

if __name__ == "__main__":
    skip_if_lacking()

from crew import BINARIES  # noqa: E402
from image_files import idx_to_tar  # noqa: E402

PAGE = (ROOT / "docs/python.md").read_text()


def section(heading):
    found, = (one for one in re.split(r"(?m)^## ", PAGE) if one.startswith(heading + "\n"))
    return found


def blocks(heading, language):
    return re.findall(rf"(?s)```{language}\n(.*?)```", section(heading))


def commands(heading):
    return re.findall(r"(?m)^    ((?:capstan|python3) .*)", section(heading))


class DocumentedProgramsTest(unittest.TestCase):

    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="capstan-documented-")
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def shell(self, command, more=""):
        done = subprocess.run(command + more, shell=True, cwd=self.folder, capture_output=True, text=True, timeout=200, check=False,
                              env={**os.environ, "CAPSTAN": str(BINARIES.resolve() / "capstan"),
                                   "PATH": f"/usr/bin:{BINARIES.resolve()}:{os.environ['PATH']}"})
        self.assertEqual(done.returncode, 0, f"{command}: {done.stdout[-1500:]}{done.stderr[-1500:]}")
        return done.stdout

    def write_photos(self):
        """Of two classes: which colour most pixels have is the class."""
        draw = random.Random(1)
        for split, count in (("train", 160), ("test", 40)):
            for place, name in enumerate(("cat", "dog")):
                folder = self.folder / "photos" / split / name
                folder.mkdir(parents=True)
                for i in range(count):
                    pixels = bytes(draw.randrange(120) + 120 * (channel == 2 * place) for _ in range(24 * 24) for channel in range(3))
                    (folder / f"{i}.png").write_bytes(idx_to_tar.png(24, 24, pixels))

    def test_images(self):
        program, = blocks("Images", "python")
        job, = blocks("Images", "yaml")
        (self.folder / "photos.py").write_text(program)
        (self.folder / "photos.yaml").write_text(job)
        self.write_photos()
        train, predict = commands("Images")
        said = self.shell(train, " --plain")
        self.assertGreater(float(re.search(r"(?i)held out .*?accuracy (\S+)", said).group(1)), 0.9, said)
        scores = [[float(share) for share in line.split(",")] for line in self.shell(predict).splitlines()]
        self.assertEqual(len(scores), 80)
        right = sum((dog > cat) == (place >= 40) for place, (cat, dog) in enumerate(scores))  # In the order of the folders.
        self.assertGreater(right, 70)

    def test_a_model_that_comes_from_torchrec(self):
        of_torchrec, program = blocks("From TorchRec", "python")
        job, = blocks("From TorchRec", "yaml")
        compile(of_torchrec, "of TorchRec, which is not here", "exec")
        (self.folder / "likes.py").write_text(program)
        (self.folder / "likes.yaml").write_text(job)
        (self.folder / "likes").mkdir()
        for name, count, seed in (("train", 8000, 1), ("test", 2000, 2)):
            write_likes(self.folder / f"likes/{name}.csv", count, seed)
        command, = commands("From TorchRec")
        said = self.shell(command, " --plain")
        self.assertGreater(float(re.search(r"held out  AUC (\S+)", said).group(1)), 0.75, "of .85 that can be had\n" + said)


if __name__ == "__main__":
    unittest.main(verbosity=2)
