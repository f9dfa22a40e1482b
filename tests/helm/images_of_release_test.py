"""`deploy/release`: what it builds is pinned, and what is not pinned is refused. The builder and helm are stand-ins that write down
how they were called; tests/e2e/kubernetes_images_test.py builds the images."""

import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BASE, SNAPSHOT = "debian@sha256:" + 64 * "a", "20261101T000000Z"


class ImagesOfReleaseTest(unittest.TestCase):

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.project = self.folder / "project"
        for path in ("deploy/release", "helm/capstan/Chart.yaml"):
            (self.project / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / path, self.project / path)
        self.git("init", "--quiet")
        self.git("add", ".")
        self.git("-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "--quiet", "--message", "all")
        for program in ("builder", "helm"):
            stand_in = self.folder / program
            stand_in.write_text(f'#!/bin/sh\necho {program} "$@" >>{self.folder}/called\n')
            stand_in.chmod(0o755)

    def git(self, *words):
        return subprocess.run(["git", "-C", self.project, *words], check=True, capture_output=True, text=True).stdout.strip()

    def release(self, base=BASE, snapshot=SNAPSHOT):
        return subprocess.run([self.project / "deploy" / "release", base, snapshot, self.folder / "out"], capture_output=True,
                              text=True, env={"PATH": "/usr/bin:/bin", "BUILDER": str(self.folder / "builder"),
                                              "HELM": str(self.folder / "helm"), "REPOSITORY": "example.com/capstan"})

    def test_each_image_is_built_on_a_digest_with_the_packages_of_a_moment(self):
        done = self.release()
        self.assertEqual(done.returncode, 0, done.stderr)
        *builds, package = (self.folder / "called").read_text().splitlines()
        version = next(line.split()[1] for line in (self.project / "helm/capstan/Chart.yaml").read_text().splitlines()
                       if line.startswith("version:"))
        self.assertEqual([line.split()[line.split().index("--tag") + 1] for line in builds],
                         [f"example.com/capstan/{role}:{version}" for role in ("chief", "ps", "worker", "cli", "torch")])
        given = {f"BASE={BASE}", f"SNAPSHOT={SNAPSHOT}", f"VERSION={version}", f"REVISION={self.git('rev-parse', '--short=12', 'HEAD')}",
                 f"SOURCE_DATE_EPOCH={self.git('log', '-1', '--format=%ct')}"}
        for line in builds:
            words = line.split()
            self.assertEqual({after for word, after in zip(words, words[1:]) if word == "--build-arg"}, given)
        self.assertEqual(package, f"helm package helm/capstan --destination {self.folder}/out")
        known = {words.split("=")[0] for line in (ROOT / "Dockerfile").read_text().splitlines()
                 if line.startswith("ARG ") for words in line.split()[1:]}
        self.assertLessEqual({word.split("=")[0] for word in given}, known)

    def test_what_is_not_pinned_or_not_committed_is_refused_and_nothing_is_built(self):
        for settings, said in (({"base": "debian:bookworm-slim"}, "is no image by digest"),
                               ({"base": "debian@sha256:abc"}, "is no image by digest"),
                               ({"snapshot": "2026-11-01"}, "is no moment"), ({"snapshot": ""}, "is no moment")):
            done = self.release(**settings)
            self.assertEqual(done.returncode, 2)
            self.assertIn(said, done.stderr)
        (self.project / "helm/capstan/Chart.yaml").write_text("version: 9.9.9\n")
        done = self.release()
        self.assertEqual(done.returncode, 2)
        self.assertIn("not committed", done.stderr)
        self.assertFalse((self.folder / "called").exists())


if __name__ == "__main__":
    unittest.main(verbosity=2)
