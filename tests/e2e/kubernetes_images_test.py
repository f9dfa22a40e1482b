"""The images as the Dockerfile makes them from the sources: what they hold, and that a release runs on them. Needs
$CAPSTAN_KUBE, which builds them. Skips, loudly, without it."""

import json
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
sys.dont_write_bytecode = True
from cluster import IMAGE, KUBE, ROOT, Namespace, Release, merged, require_cluster, run, skip
from cluster_jobs import synthetic

TAG = "whole"
PROGRAMS = {"chief": {"chief", "capstan"}, "ps": {"ps"}, "worker": {"worker"},
            "cli": {"capstan", "chief", "ps", "worker"}}
START = {"chief": "chief", "ps": "ps", "worker": "worker", "cli": "capstan"}


def build():
    """All of them, loaded into the cluster; they share the stage that compiles."""
    revision = subprocess.run(["git", "rev-parse", "--short=12", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    for role in PROGRAMS:
        run(KUBE, "build-image", f"{IMAGE}/{role}:{TAG}", ROOT, "--target", role, "--build-arg",
            f"REVISION={revision.stdout.strip() or 'unknown'}", timeout=1500)
        run(KUBE, "load", f"{IMAGE}/{role}:{TAG}")


class Image:
    """An image's settings and files."""

    def __init__(self, role):
        with tempfile.NamedTemporaryFile(suffix=".tar") as file:
            run(KUBE, "ctr", "images", "export", "--platform", "linux/amd64", file.name,
                f"docker.io/{IMAGE}/{role}:{TAG}")
            with tarfile.open(file.name) as archive:
                manifest, = json.load(archive.extractfile("manifest.json"))
                self.config = json.load(archive.extractfile(manifest["Config"]))["config"]
                self.files = {}
                for layer in manifest["Layers"]:
                    with tarfile.open(fileobj=archive.extractfile(layer)) as files:
                        self.files.update((one.name.lstrip("./"), files.extractfile(one).read())
                                          for one in files if one.isfile())


class ImagesTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        begin = time.monotonic()
        build()
        print(f"built within {time.monotonic() - begin:.0f} s", flush=True)

    def test_an_image_holds_its_programs_and_what_they_need_and_nothing_else(self):
        for role, programs in PROGRAMS.items():
            with self.subTest(role=role):
                image = Image(role)
                self.assertEqual(image.config["User"], "65532:65532")
                self.assertEqual(image.config["Entrypoint"], [f"/usr/bin/{START[role]}"])
                labels = {label.removeprefix("org.opencontainers.image.") for label in image.config["Labels"]}
                self.assertLessEqual({"title", "description", "version", "revision", "licenses"}, labels)
                self.assertEqual({name for name in image.files if "/lib" not in f"/{name}"},
                                 {f"usr/bin/{program}" for program in programs} | {"etc/ssl/certs/ca-certificates.crt"}
                                 | {f"usr/share/sbom/{program}.spdx.json" for program in programs})
                listed = {one["fileName"] for program in programs
                          for one in json.loads(image.files[f"usr/share/sbom/{program}.spdx.json"])["files"]}
                self.assertEqual(listed, {f"./{name}" for name in image.files if not name.startswith("usr/share/sbom/")})
                for program in programs:
                    self.assertNotIn(b"capstan_failpoints", image.files[f"usr/bin/{program}"], program)
                megabytes = sum(map(len, image.files.values())) / 1e6
                print(f"{role}: {megabytes:.0f} MB", flush=True)
                self.assertLess(megabytes, 80)

    def test_a_release_runs_on_them(self):
        with Namespace("capstan-e2e-images") as namespace:
            release = Release(namespace, "ctr", merged(synthetic(30000), {"image": {"tag": TAG}}))
            release.install()
            release.wait_job("complete")
            self.assertIn("completed", release.command("status").stdout)


if __name__ == "__main__":
    require_cluster()
    if not KUBE:
        skip("no $CAPSTAN_KUBE to build images with")
    unittest.main(verbosity=2)
