"""What a build of the images is given, and what the Dockerfile promises, without building them: tests/e2e/kubernetes_images_test.py
builds them."""

import fnmatch
import pathlib
import re
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
NEEDED = ("CMakeLists.txt", "LICENSE", "cmake/", "deploy/lib/", "deploy/packages.txt", "proto/", "python/", "services/")
MOST_BYTES = 8 << 20


def ignored(path, patterns):
    """As docker has it: the last pattern that fits a path, or a folder it is in, decides."""
    parents = [path, *(str(parent) for parent in pathlib.PurePosixPath(path).parents if str(parent) != ".")]
    decision = False
    for pattern in patterns:
        keep, pattern = pattern.startswith("!"), pattern.removeprefix("!").strip("/")
        choices = {pattern, pattern.removeprefix("**/")}
        if any(fnmatch.fnmatchcase(one, choice) for one in parents for choice in choices):
            decision = not keep
    return decision


class DockerfileTest(unittest.TestCase):
    lines = (ROOT / "Dockerfile").read_text().replace("\\\n", " ").splitlines()
    patterns = [line for line in (ROOT / ".dockerignore").read_text().splitlines() if line and line[0] != "#"]

    def of(self, instruction):
        return [line.split(None, 1)[1] for line in self.lines if line.startswith(instruction + " ")]

    def test_the_build_is_given_what_it_compiles_and_nothing_else(self):
        listed = subprocess.run(["git", "-C", ROOT, "ls-files", "--cached", "--others", "--exclude-standard"],
                                capture_output=True, text=True)
        if listed.returncode != 0:
            self.skipTest("there is no git to list the files")
        given = [name for name in listed.stdout.splitlines() if not ignored(name, self.patterns)]
        self.assertEqual([name for name in given if not name.startswith(NEEDED)], [])
        for wanted in NEEDED:
            self.assertTrue(any(name.startswith(wanted) for name in given), wanted)
        self.assertLess(sum((ROOT / name).stat().st_size for name in given if (ROOT / name).exists()), MOST_BYTES)
        for name in (".git/config", "build/dev/bin/ps", "tests/run", "docs/metrics.md", "data/criteo.csv", "key.pem",
                     "services/cli/__pycache__/x.pyc", ".env", "capstan-runs/latest/model"):
            self.assertTrue(ignored(name, self.patterns), name)

    def test_every_copied_path_is_given(self):
        for words in self.of("COPY"):
            if not words.startswith("--from"):
                for source in words.split()[:-1]:
                    self.assertTrue(source == "." or not ignored(source, self.patterns), source)

    def test_the_base_is_an_argument_that_may_be_a_digest(self):
        self.assertEqual(self.of("ARG")[0].split("=")[0], "BASE")
        self.assertIn("BASE=debian@sha256:", (ROOT / "Dockerfile").read_text())
        known = {"${BASE}", "scratch"}
        for words in self.of("FROM"):
            base, _, name = words.partition(" AS ")
            self.assertIn(base, known)
            known.add(name)

    def test_packages_can_be_those_of_a_moment(self):
        with tempfile.TemporaryDirectory() as root:
            sources = pathlib.Path(root) / "etc" / "apt" / "sources.list.d"
            sources.mkdir(parents=True)
            for former in (sources / "debian.sources", sources.parent / "sources.list"):
                former.write_text("deb http://mirror.example.com/debian bookworm main\n")
            subprocess.run(["bash", "-euc", f"source deploy/lib/packages.sh && packages_pin 20261101T000000Z {root}"], cwd=ROOT,
                           check=True)
            done = subprocess.run(["apt-get", "update", "--print-uris", f"--option=Dir::Etc={root}/etc/apt",
                                   f"--option=Dir::State={root}", "--option=Debug::NoLocking=true"],  # It fetches nothing.
                                  capture_output=True, text=True, check=True)
        archive = "http://snapshot.debian.org/archive/"
        self.assertEqual({line.split("'")[1].rpartition("/dists/")[0] for line in done.stdout.splitlines()},
                         {f"{archive}debian/20261101T000000Z", f"{archive}debian-security/20261101T000000Z"})
        self.assertEqual(set(re.findall(r"/dists/(\S+)/InRelease'", done.stdout)),
                         {"bookworm", "bookworm-updates", "bookworm-security"})

    def test_the_images_start_one_program_as_nobody(self):
        users = self.of("USER")
        self.assertEqual(len(users), 2)  # Of what derives from scratch, and of what has Debian beneath.
        for user in users:
            self.assertRegex(user, r"^[1-9]\d{4,}:[1-9]\d{4,}$")
        for words in self.of("ENTRYPOINT"):
            self.assertRegex(words, r'^\["/usr/bin/\w+"\]$')
        self.assertFalse([line for line in self.lines if re.search(r":latest\b", line)])


if __name__ == "__main__":
    unittest.main(verbosity=2)
