"""What an image holds, as its SBOM tells it: every file with its checksums, and the packages of Debian that it is made of."""

import hashlib
import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = pathlib.Path(os.environ["CAPSTAN_BIN"]) / "ps"


def make_sbom(root, **environment):
    done = subprocess.run([ROOT / "deploy" / "lib" / "make_sbom", root, "ps", "0.1.0"], cwd=ROOT, capture_output=True, text=True,
                          env={**os.environ, **environment})
    return done.returncode, done.stdout, done.stderr


class SbomTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.scratch.cleanup)
        cls.root = pathlib.Path(cls.scratch.name) / "image"
        subprocess.run([ROOT / "deploy" / "lib" / "copy_closure", PROGRAM, cls.root], check=True)
        code, cls.text, said = make_sbom(cls.root, SOURCE_DATE_EPOCH="1700000000")
        assert code == 0, said
        cls.sbom = json.loads(cls.text)
        cls.packages = {one["SPDXID"]: one for one in cls.sbom["packages"]}

    def related(self, kind):
        """(from, to) of all relationships of the kind."""
        return [(one["spdxElementId"], one["relatedSpdxElement"]) for one in self.sbom["relationships"]
                if one["relationshipType"] == kind]

    def test_it_is_an_spdx_document(self):
        self.assertEqual((self.sbom["spdxVersion"], self.sbom["dataLicense"], self.sbom["SPDXID"]),
                         ("SPDX-2.3", "CC0-1.0", "SPDXRef-DOCUMENT"))
        self.assertEqual(self.sbom["creationInfo"]["created"], "2023-11-14T22:13:20Z")
        self.assertEqual(self.related("DESCRIBES"), [("SPDXRef-DOCUMENT", "SPDXRef-Capstan")])
        names = [one["SPDXID"] for part in ("packages", "files") for one in self.sbom[part]]
        self.assertEqual(len(names), len(set(names)))
        for name in names:
            self.assertRegex(name, r"^SPDXRef-[A-Za-z0-9.-]+$")
        for one in self.sbom["relationships"]:
            self.assertLessEqual({one["spdxElementId"], one["relatedSpdxElement"]}, {*names, "SPDXRef-DOCUMENT"})

    def test_every_file_of_the_image_is_listed_with_its_checksums(self):
        there = {f"./{path.relative_to(self.root)}": path.read_bytes() for path in self.root.rglob("*") if path.is_file()}
        told = {one["fileName"]: {sum_["algorithm"]: sum_["checksumValue"] for sum_ in one["checksums"]}
                for one in self.sbom["files"]}
        self.assertEqual(told, {name: {"SHA1": hashlib.sha1(data).hexdigest(), "SHA256": hashlib.sha256(data).hexdigest()}
                                for name, data in there.items()})
        together = "".join(sorted(sums["SHA1"] for sums in told.values()))
        self.assertEqual(self.packages["SPDXRef-Capstan"]["packageVerificationCode"]["packageVerificationCodeValue"],
                         hashlib.sha1(together.encode()).hexdigest())
        self.assertEqual({file for _, file in self.related("CONTAINS")}, {one["SPDXID"] for one in self.sbom["files"]})

    def test_every_library_is_of_one_package_in_the_version_that_is_installed(self):
        made_of = dict(self.related("GENERATED_FROM"))
        self.assertEqual(len(made_of), len(self.related("GENERATED_FROM")))
        own = {one["fileName"] for one in self.sbom["files"] if one["SPDXID"] not in made_of}
        self.assertEqual(own, {"./usr/bin/ps"})
        shipped = set(made_of.values())
        for name in shipped:
            package = self.packages[name]
            installed = subprocess.run(["dpkg-query", "-W", "-f=${Version}\n", package["name"]], capture_output=True, text=True,
                                       check=True).stdout.splitlines()
            self.assertIn(package["versionInfo"], installed)
            locator, = (one["referenceLocator"] for one in package["externalRefs"])
            self.assertRegex(locator, rf"^pkg:deb/debian/{re.escape(package['name'])}@[^+:]+\?arch=\w+&distro=debian-12$")
        self.assertLessEqual({"libc6", "libgrpc29", "libprotobuf32", "libssl3", "ca-certificates"},
                             {self.packages[name]["name"] for name in shipped})

    def test_what_is_compiled_in_is_told_too(self):
        built_with = {self.packages[one]["name"] for one, _ in self.related("BUILD_DEPENDENCY_OF")}
        self.assertLessEqual({"libeigen3-dev", "nlohmann-json3-dev", "libcli11-dev", "build-essential"}, built_with)

    def test_equal_images_have_equal_documents_and_another_file_makes_another_one(self):
        self.assertEqual(make_sbom(self.root, SOURCE_DATE_EPOCH="1700000000")[1], self.text)
        program = self.root / "usr" / "bin" / "ps"
        before = program.read_bytes()
        program.write_bytes(before + b"x")
        self.addCleanup(program.write_bytes, before)
        other = json.loads(make_sbom(self.root)[1])
        self.assertNotEqual(other["documentNamespace"], self.sbom["documentNamespace"])

    def test_a_file_that_no_package_has_is_refused(self):
        stranger = self.root / "lib" / "x86_64-linux-gnu" / "libstranger.so.1"
        stranger.write_bytes(b"?")
        self.addCleanup(stranger.unlink)
        code, _, said = make_sbom(self.root)
        self.assertNotEqual(code, 0)
        self.assertIn("no package has /lib/x86_64-linux-gnu/libstranger.so.1", said)


if __name__ == "__main__":
    unittest.main(verbosity=2)
