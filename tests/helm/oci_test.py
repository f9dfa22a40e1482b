"""The chart as an OCI artifact: packed, pushed to a registry, and rendered from what that has kept, as `helm install` does it."""

import hashlib
import json
import pathlib
import re
import sys
import tarfile
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))
from chart import CHART, JOB, helm, require_helm, template
from oci_registry import Registry

import yaml

VERSION = yaml.safe_load((CHART / "Chart.yaml").read_text())["version"]


def digest_told(done):
    return re.search(r"Digest: (sha256:[0-9a-f]{64})", done.stdout + done.stderr)[1]


class OciTest(unittest.TestCase):

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.layout = self.folder / "layout"

    def run_helm(self, *words):
        done = helm(*words)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done

    def push(self):
        """Gives the digest that helm tells."""
        self.run_helm("package", CHART, "--destination", self.folder)
        with Registry(self.layout) as registry:
            said = self.run_helm("push", self.folder / f"capstan-{VERSION}.tgz", f"oci://{registry.host}/charts", "--plain-http")
        return digest_told(said)

    def rendered(self, *words):
        """What an installation from the layout would make, and the digest that helm tells."""
        with Registry(self.layout) as registry:
            done = self.run_helm("template", "ctr", f"oci://{registry.host}/charts/capstan", "--plain-http", "--namespace",
                                 "training", "--values", JOB, *words)
        return done.stdout, digest_told(done)

    def test_what_was_pushed_is_installed(self):
        digest = self.push()
        self.assertEqual(self.rendered("--version", VERSION), (template(), digest))

    def test_each_blob_of_the_layout_is_what_its_name_says_and_no_file_of_the_chart_is_missing(self):
        self.push()
        for blob in (self.layout / "blobs" / "sha256").iterdir():
            self.assertEqual(hashlib.sha256(blob.read_bytes()).hexdigest(), blob.name)
        with tarfile.open(self.folder / f"capstan-{VERSION}.tgz") as packed:
            names = set(packed.getnames())
        for needed in ("Chart.yaml", "values.yaml", "values.schema.json", "files/rules.yaml", "dashboards/training.json",
                       "templates/tests/crew.yaml"):
            self.assertIn(f"capstan/{needed}", names)

    def test_a_layout_whose_chart_was_changed_is_refused(self):
        self.push()
        index, = json.loads((self.layout / "index.json").read_text())["manifests"]
        blobs = self.layout / "blobs" / "sha256"
        layer, = json.loads((blobs / index["digest"].removeprefix("sha256:")).read_text())["layers"]
        chart = blobs / layer["digest"].removeprefix("sha256:")
        chart.write_bytes(chart.read_bytes()[:-1] + b"x")
        with Registry(self.layout) as registry:
            done = helm("template", "ctr", f"oci://{registry.host}/charts/capstan", "--version", VERSION, "--plain-http")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("digest", done.stderr)


if __name__ == "__main__":
    require_helm()
    unittest.main(verbosity=2)
