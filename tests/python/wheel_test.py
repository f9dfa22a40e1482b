"""The wheel of capstan_ps: built by its one command, installed into an empty virtual environment, imported, and training there."""

import base64
import csv
import hashlib
import io
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
import zipfile

from python_data import has_module

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGE = pathlib.Path(os.environ.get("CAPSTAN_PYTHON_PACKAGE", ROOT / "build/test/python")) / "capstan_ps"
PYTHON = "/usr/bin/python3"
DEBIANS = "/usr/lib/python3/dist-packages"  # Has PyTorch.
EXAMPLES = ROOT / "deploy/examples/python"
CLEAN = {"PATH": "/usr/bin:/bin", "HOME": "/nonexistent"}  # No PYTHONPATH: what is found is what was installed.


def run(*words, **more):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True, **{"env": CLEAN, **more})
    if done.returncode != 0:
        raise AssertionError(f"{words} ended with {done.returncode}: {done.stdout}{done.stderr}")
    return done.stdout


def lack():
    """What is missing here; empty: nothing."""
    if not list(PACKAGE.glob("_capstan*.so")):
        return f"{PACKAGE} is not built (-DCAPSTAN_PYTHON_MODULE=ON with nanobind; tests/run builds it)"
    for module, package in (("torch", "python3-torch"), ("ensurepip", "python3-venv"), ("venv", "python3-venv")):
        if not has_module(module):
            return f"{PYTHON} has no {module} (Debian: {package})"
    return ""


def build(folder):
    """The wheel, and what the command lists: {Debian package: kB}."""
    said = run(PYTHON, "-B", ROOT / "python/build_wheel", folder, "--package", PACKAGE,
               env={**CLEAN, "SOURCE_DATE_EPOCH": "1700000000"})
    wheel, = folder.glob("*.whl")
    return wheel, {name: int(size) for name, size in re.findall(r"(?m)^\| (\S+) \| \S+ \| (\d+) \|", said)}


class WheelTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = pathlib.Path(scratch.name)
        cls.wheel, cls.bundled = build(cls.folder / "once")
        run(PYTHON, "-m", "venv", cls.folder / "venv")
        cls.python = cls.folder / "venv/bin/python"
        run(cls.python, "-m", "pip", "install", "--no-index", "--disable-pip-version-check", cls.wheel)

    def test_it_is_imported_from_an_empty_environment_with_the_libraries_that_it_brings(self):
        program = """if True:
            import capstan_ps.worker
            loaded = {line.split()[-1] for line in open('/proc/self/maps') if '.so' in line}
            print(capstan_ps.__version__, *sorted(loaded))"""
        version, *loaded = run(self.python, "-c", program, cwd="/").split()
        self.assertIn(f"-{version}-", self.wheel.name)
        self.assertIn(f"project(capstan VERSION {version}", (ROOT / "CMakeLists.txt").read_text())
        own = str(self.folder / "venv/lib")
        foreign = {pathlib.Path(path).name.split(".")[0] for path in loaded if not path.startswith(own)}
        # Of glibc, of the compiler, and of Python itself.
        self.assertLessEqual(foreign, {"ld-linux-x86-64", "libc", "libm", "libresolv", "libpthread", "libdl", "librt", "libgcc_s",
                                       "libstdc++", "libz", "libexpat"})
        self.assertGreater(sum(path.startswith(own) and "/lib/lib" in path for path in loaded), 50)

    def test_a_job_trains_with_a_program_of_that_environment(self):
        (self.folder / "venv/lib/python3.11/site-packages/debian.pth").write_text(DEBIANS)  # For PyTorch.
        where = run(self.python, "-c", "import torch, capstan_ps; print(capstan_ps.__file__)", cwd="/")
        self.assertTrue(where.startswith(str(self.folder)), where)
        capstan = self.folder / "venv/bin/capstan"
        done = subprocess.run([capstan, "train", EXAMPLES / "deepfm.yaml", "--plain", "--run-dir", self.folder / "run", "--shards", "2",
                               "--workers", "2", "--set", "data.synthetic.train_rows=20000", "--worker",
                               f"{self.python} {EXAMPLES / 'deepfm.py'}"], capture_output=True, text=True, env=CLEAN, timeout=120)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("20,000 examples", done.stdout)

    def test_its_programs_find_the_libraries_that_it_brings(self):
        programs = self.folder / "venv/lib/python3.11/site-packages/capstan_ps/bin"
        self.assertEqual({path.name for path in programs.iterdir()}, {"capstan", "chief", "ps", "worker"})
        for program in programs.iterdir():
            found = re.findall(r"=> (\S+)", run("ldd", program))
            own = [path for path in found if "/capstan_ps/bin/../lib/" in path]
            self.assertGreater(len(own), 20, program)
            self.assertEqual({pathlib.Path(path).name.split(".")[0] for path in found if path not in own} -
                             {"libc", "libm", "libresolv", "libgcc_s", "libstdc++"}, set(), program)

    def test_its_record_is_true_and_every_library_has_its_licence(self):
        with zipfile.ZipFile(self.wheel) as archive:
            files = {name: archive.read(name) for name in archive.namelist()}
        record, = (name for name in files if name.endswith(".dist-info/RECORD"))
        for name, digest, size in csv.reader(io.StringIO(files[record].decode())):
            if name != record:
                told = base64.urlsafe_b64encode(hashlib.sha256(files[name]).digest()).rstrip(b"=").decode()
                self.assertEqual((digest, size), (f"sha256={told}", str(len(files[name]))), name)
        licences = {pathlib.PurePath(name).name.removesuffix(".copyright") for name in files if name.endswith(".copyright")}
        self.assertEqual(licences, set(self.bundled))
        self.assertIn(b"Apache License", files[record.replace("RECORD", "licenses/LICENSE")])
        self.assertIn(record.replace("RECORD", "licenses/nanobind.LICENSE"), files)

    def test_the_document_lists_what_it_bundles_and_how_large_it_is(self):
        listed = {name: int(size) for name, size in
                  re.findall(r"(?m)^\| `(z?lib\S+)` \| (\d+) \|", (ROOT / "docs/python.md").read_text())}
        self.assertEqual(set(listed), set(self.bundled))
        for name, size in listed.items():  # A security update of Debian's may change it somewhat.
            self.assertAlmostEqual(size, self.bundled[name], delta=max(20, size / 10), msg=name)
        self.assertLess(self.wheel.stat().st_size, 30e6)

    def test_the_same_sources_give_the_same_bytes(self):
        again, _ = build(self.folder / "again")
        self.assertEqual(hashlib.sha256(again.read_bytes()).digest(), hashlib.sha256(self.wheel.read_bytes()).digest())


if __name__ == "__main__":
    if lack():
        print(f"SKIPPED: {lack()}")
        sys.exit(77)
    unittest.main(verbosity=2)
