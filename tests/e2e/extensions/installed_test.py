"""Capstan as it is installed: what `cmake --install` copies, and what deploy/examples/extension makes of that alone. The programs that it makes
stay in CAPSTAN_EXTENDED, where own_tower_test.py and own_optimizer_test.py train with them."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[3]
BUILD = pathlib.Path(os.environ["CAPSTAN_BUILD"])
EXTENDED = pathlib.Path(os.environ["CAPSTAN_EXTENDED"])
# A `ps` in anybody's PATH would hide the system's.
PROGRAMS = {"bin/capstan", "libexec/capstan/chief", "libexec/capstan/ps", "libexec/capstan/worker"}
INCLUDE = re.compile(r'(?m)^#include "(capstan/[^"]+)"')


def run_it(*command, expect=0):
    """What a command says. Its choice of a linker is the machine's, as it is in Capstan's own build."""
    linker = {"LDFLAGS": "-fuse-ld=mold"} if shutil.which("mold") else {}
    done = subprocess.run([str(word) for word in command], check=False, timeout=300, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, env={**os.environ, **linker, "CMAKE_GENERATOR": "Ninja"})
    if (done.returncode == 0) != (expect == 0):
        raise AssertionError(done.stdout)
    return done.stdout


def files_below(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


class InstalledTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(scratch.cleanup)
        cls.folder = pathlib.Path(scratch.name)
        cls.prefix = cls.folder / "prefix"
        run_it("cmake", "--install", BUILD, "--prefix", cls.prefix)

    def copy_of_the_example(self, name):
        return pathlib.Path(shutil.copytree(ROOT / "deploy/examples/extension", self.folder / name))

    def test_nothing_is_installed_but_programs_libraries_headers_and_the_package(self):
        files = files_below(self.prefix)
        self.assertEqual({file for file in files if file.startswith(("bin/", "libexec/"))}, PROGRAMS)
        for file in files:
            self.assertRegex(file, r"^(bin/\w+|libexec/capstan/\w+|lib/libcapstan_\w+\.a|lib/capstan/.*\.o|lib/cmake/Capstan/Capstan[\w-]+\.cmake|"
                                   r"include/capstan/.*\.h|share/doc/capstan/LICENSE)$".replace("lib/", r"lib(?:64|/[\w-]+-gnu)?/"))
            self.assertNotRegex(file, r"test|bench|fake|_sim\b")

    def test_the_programs_can_be_installed_alone(self):
        run_it("cmake", "--install", BUILD, "--prefix", self.folder / "alone", "--component", "programs")
        self.assertEqual(files_below(self.folder / "alone"), PROGRAMS | {"share/doc/capstan/LICENSE"})

    def test_each_header_that_a_header_includes_is_installed(self):
        headers = {str(path.relative_to(self.prefix / "include")): path.read_text() for path in (self.prefix / "include").rglob("*.h")}
        self.assertIn("capstan/model/tower.h", headers)
        for name, text in headers.items():
            for included in INCLUDE.findall(text):
                self.assertIn(included, headers, name)

    def test_no_text_that_is_installed_names_a_folder_of_this_machine(self):
        for path in [*self.prefix.rglob("*.cmake"), *self.prefix.rglob("*.h")]:
            for folder in (ROOT, BUILD, self.prefix):
                self.assertNotIn(str(folder), path.read_text(), path)

    def test_another_major_version_is_refused(self):
        example = self.copy_of_the_example("later")
        lists = example / "CMakeLists.txt"
        lists.write_text(re.sub(r"find_package\(Capstan [\d.]+", "find_package(Capstan 1", lists.read_text()))
        said = run_it("cmake", "-S", example, "-B", example / "build", f"-DCMAKE_PREFIX_PATH={self.prefix}", expect=1)
        self.assertIn('compatible with requested version "1"', " ".join(said.split()))

    def test_the_example_is_built_of_the_package_alone(self):
        example = self.copy_of_the_example("example")
        build = example / "build"
        said = run_it("cmake", "-S", example, "-B", build, f"-DCMAKE_PREFIX_PATH={self.prefix}")
        said += run_it("cmake", "--build", build)
        # All commands, and all headers that the compiler read.
        for what in ("commands", "deps"):
            said = run_it("ninja", "-C", build, "-t", what)
            self.assertIn("field_weighted_fm.cc", said)
            self.assertIn(str(self.prefix), said)
            for folder in (ROOT, BUILD):
                self.assertNotIn(f"{folder}/", said)
        shutil.rmtree(EXTENDED, ignore_errors=True)
        run_it("cmake", "--install", build, "--prefix", EXTENDED)
        self.assertEqual(files_below(EXTENDED), PROGRAMS)


if __name__ == "__main__":
    unittest.main(verbosity=2)
