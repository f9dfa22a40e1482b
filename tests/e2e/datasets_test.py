"""deploy/datasets makes the sets of the examples from files as their publishers have them, and refuses others in one line."""

import gzip
import hashlib
import importlib.machinery
import importlib.util
import pathlib
import re
import struct
import subprocess
import sys
import tempfile
import unittest
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from crew import DATA

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "deploy" / "datasets"
sys.dont_write_bytecode = True
_loader = importlib.machinery.SourceFileLoader("datasets", str(PROGRAM))
datasets = importlib.util.module_from_spec(importlib.util.spec_from_loader("datasets", _loader))
sys.modules["datasets"] = datasets
_loader.exec_module(datasets)

A9A_LINE, RATING = "-1 3:1 11:1 \n", "1\t6\t5\t887431973\n"


def idx(shape, records):
    size = records
    for extent in shape:
        size *= extent
    return struct.pack(f">BBBB{1 + len(shape)}I", 0, 0, 8, 1 + len(shape), records, *shape) + bytes(n % 251 for n in range(size))


class DatasetsTest(unittest.TestCase):

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.downloads, self.to = pathlib.Path(scratch.name) / "downloads", pathlib.Path(scratch.name) / "data"
        self.downloads.mkdir()

    def run_program(self, *words):
        return subprocess.run([PROGRAM, *words, "--to", self.to], capture_output=True, text=True, timeout=60)

    def make(self, name, *words):
        return self.run_program(name, "--from", self.downloads, *words)

    def made(self, name):
        return gzip.decompress((self.to / name).read_bytes())

    def refused(self, done, *words):
        """With exit code 2 and one line that has these words; nothing was made."""
        self.assertEqual((done.returncode, done.stdout), (2, ""), done.stderr)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)
        self.assertFalse(any(self.to.rglob("*.gz")), "something was made")

    def test_it_tells_what_to_download_from_where_and_under_which_licence(self):
        done = self.run_program("ml-100k")
        self.assertEqual(done.returncode, 0, done.stderr)
        for words in ("grouplens.org/datasets/movielens/100k", "not to be passed on", "u1.base, u1.test", "ml-100k.zip",
                      "deploy/datasets ml-100k --from FOLDER", "not made"):
            self.assertIn(words, done.stdout)

    def test_a_file_that_is_missing_is_named_with_its_address(self):
        (self.downloads / "a9a").write_text(A9A_LINE * 32561)
        self.refused(self.make("a9a", "--unverified"), "no file a9a.t or a9a.t.gz", "libsvmtools")

    def test_a_folder_that_is_none_is_refused(self):
        self.refused(self.run_program("a9a", "--from", self.downloads / "nowhere"), "nowhere: not a folder")

    def test_a_line_of_another_form_is_named(self):
        (self.downloads / "a9a").write_text(A9A_LINE * 2 + "<html>\n" + A9A_LINE * 32558)
        self.refused(self.make("a9a", "--unverified"), "a9a in ", "line 3 is b'<html>'")

    def test_a_file_that_ends_early_is_refused(self):
        (self.downloads / "a9a").write_text(A9A_LINE * 32560)
        self.refused(self.make("a9a", "--unverified"), "32560 lines, expected 32561")
        (self.downloads / "a9a").unlink()
        (self.downloads / "a9a.gz").write_bytes(gzip.compress(A9A_LINE.encode() * 32561)[:-20])
        self.refused(self.make("a9a", "--unverified"), "a9a in ", "cannot be read")

    def test_another_content_of_the_right_form_is_taken_only_when_asked(self):
        (self.downloads / "a9a").write_text(A9A_LINE * 32561)
        (self.downloads / "a9a.t").write_text(A9A_LINE * 16281)
        self.refused(self.make("a9a"), hashlib.sha256(A9A_LINE.encode() * 32561).hexdigest(), "--unverified")
        self.assertEqual(self.make("a9a", "--unverified").returncode, 0)
        self.assertEqual(self.made("a9a/test.libsvm.gz"), A9A_LINE.encode() * 16281)

    def test_an_archive_does_as_well(self):
        with zipfile.ZipFile(self.downloads / "ml-100k.zip", "w") as archive:
            archive.writestr("ml-100k/u1.base", RATING * 80000)
            archive.writestr("ml-100k/u1.test", RATING * 20000)
        self.assertEqual(self.make("ml-100k", "--unverified").returncode, 0)
        self.assertEqual(self.made("ml-100k/u1.test.gz"), RATING.encode() * 20000)

    def test_the_first_digits_are_cut_off_and_the_header_says_so(self):
        for name, shape, records in (("train-images-idx3-ubyte", (28, 28), 60000), ("train-labels-idx1-ubyte", (), 60000),
                                     ("t10k-images-idx3-ubyte", (28, 28), 10000), ("t10k-labels-idx1-ubyte", (), 10000)):
            (self.downloads / name).write_bytes(idx(shape, records))
        self.assertEqual(self.make("mnist", "--unverified").returncode, 0)
        self.assertEqual(self.made("mnist/train10k-images-idx3-ubyte.gz"), idx((28, 28), 10000))
        self.assertEqual(self.made("mnist/train10k-labels-idx1-ubyte.gz"), idx((), 10000))
        (self.downloads / "t10k-labels-idx1-ubyte").write_bytes(idx((), 9999))
        done = self.make("mnist", "--unverified")
        self.assertEqual(done.returncode, 2)
        self.assertIn("t10k-labels-idx1-ubyte", done.stderr)

    def test_the_data_here_is_that_of_the_checksums(self):
        """What was made once, as if it had been downloaded."""
        lacking = [name for name in datasets.DATASETS if not datasets.is_made(name, DATA)]
        if lacking:
            # The rest is still tried.
            self.addCleanup(self.skipTest, f"{DATA} does not have {', '.join(lacking)} (deploy/datasets makes it)")
        for name in datasets.DATASETS.keys() - lacking:
            with self.subTest(name):
                for made in datasets.DATASETS[name].files:
                    content = gzip.decompress((DATA / name / f"{made.name}.gz").read_bytes())
                    if made.name.startswith("train10k"):  # The records that are cut off count for nothing.
                        size = (len(content) - len(content) % 10000) // 10000
                        content = content[:4] + struct.pack(">I", 60000) + content[8:] + bytes(50000 * size)
                    (self.downloads / made.source).write_bytes(content)
                self.assertEqual(self.make(name).stderr, "")
                self.assertTrue(datasets.is_made(name, self.to))

    def test_every_example_reads_what_is_made_below_the_repository(self):
        made = {f"{name}/{file.name}.gz" for name, dataset in datasets.DATASETS.items() for file in dataset.files}
        for path in sorted((ROOT / "deploy" / "examples").glob("*.yaml")):
            text = path.read_text()
            for name in re.findall(r"(?:train|eval|uri): *([^,}\s]*/[^,}\s]*)", text):
                if not name.startswith("../../data/quickstart/"):
                    self.assertIn(name.removeprefix("../../data/"), made, path.name)
                    self.assertIn(f"deploy/datasets {name.split('/')[3]}\n", text, path.name)

    def test_every_set_is_documented_with_its_files(self):
        page = (ROOT / "docs" / "datasets.md").read_text()
        for name, dataset in datasets.DATASETS.items():
            self.assertIn(f"| `{name}` |", page)
            self.assertIn(dataset.url.split(",")[0].split("#")[0], page)
            for file in dataset.files if name not in ("ml-100k", "mnist") else ():
                self.assertIn(file.source, page)


if __name__ == "__main__":
    unittest.main(verbosity=2)
