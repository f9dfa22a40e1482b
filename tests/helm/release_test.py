"""What a version of the chart may change of the one before it, and what it says about itself.

The one before is the last tag's (v1.2.3); where nothing was released yet, the last commit's. Its golden renders are compared
with the present ones: what the API server takes no change of stays, or the version says that an upgrade needs more than
`helm upgrade`. Before the first release there is no version to say it; then the changes that Chart.yaml tells name the
field, and what to do."""

import pathlib
import re
import subprocess
import sys
import unittest

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
GOLDEN, CHART = "tests/helm/golden", "helm/capstan/Chart.yaml"
# Of a workload that exists; a Job has its specification's hash in its name instead.
FIXED = {"StatefulSet": ("selector", "serviceName", "podManagementPolicy", "volumeClaimTemplates"),
         "Deployment": ("selector",), "Service": ("clusterIP",), "PersistentVolumeClaim": ("storageClassName", "accessModes")}
KINDS = {"added", "changed", "deprecated", "removed", "fixed", "security"}  # Of Artifact Hub.


def git(*words):
    done = subprocess.run(["git", "-C", ROOT, *words], capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else None


def released():
    """The tag of the last release; empty: nothing was released yet."""
    return (git("describe", "--tags", "--abbrev=0", "--match", "v*") or "").strip()


def before():
    """The commit that users may have; None where there is no history."""
    if released():
        return released()
    changed = git("status", "--porcelain", "--", GOLDEN, CHART)
    commit = "HEAD" if changed else "HEAD~1"
    return commit if git("rev-parse", "--verify", "--quiet", commit) else None


def renders(commit=None):
    """{set of values: text}, as the commit has them, or the working tree."""
    if commit is None:
        return {path.stem: path.read_text() for path in (ROOT / GOLDEN).glob("*.yaml")}
    names = (git("ls-tree", "--name-only", commit, f"{GOLDEN}/") or "").split()
    return {pathlib.Path(name).stem: git("show", f"{commit}:{name}") for name in names}


def fixed_fields(text):
    """{(kind, name): {field: value}} of all that cannot be changed."""
    return {(one["kind"], one["metadata"]["name"]): {field: one["spec"].get(field) for field in FIXED[one["kind"]]}
            for one in yaml.safe_load_all(text) if one and one["kind"] in FIXED}


def impossible_upgrades(old, new):
    """A line for each field that no upgrade can change, and does."""
    after = fixed_fields(new)
    return [f"{kind} {name}: {field}: {value} -> {after[kind, name][field]}"
            for (kind, name), fields in fixed_fields(old).items() if (kind, name) in after
            for field, value in fields.items() if after[kind, name][field] != value]


def breaks(old, new):
    """Whether a version says that it is no plain upgrade: another first number, or before 1.0 another second one."""
    old, new = ([int(part) for part in version.split(".")[:2]] for version in (old, new))
    return new[0] > old[0] or (old[0] == new[0] == 0 and new[1] > old[1])


class ReleaseTest(unittest.TestCase):
    chart = yaml.safe_load((ROOT / CHART).read_text())

    def test_an_installed_release_can_be_upgraded(self):
        commit = before()
        if commit is None:
            self.skipTest("there is no history to compare with")
        old = yaml.safe_load(git("show", f"{commit}:{CHART}"))["version"]
        now = renders()
        found = [f"{name}: {line}" for name, text in renders(commit).items() if name in now
                 for line in impossible_upgrades(text, now[name])]
        if not released():
            told = yaml.safe_load(self.chart["annotations"]["artifacthub.io/changes"])
            found = [line for line in found if not any(line.split(": ")[2] in one["description"] and "kubectl delete" in
                                                       one["description"] for one in told)]
        if not breaks(old, self.chart["version"]):
            self.assertEqual(found, [], f"against {commit}, version {old}")

    def test_a_change_of_what_is_fixed_is_found_and_a_version_can_say_so(self):
        text = (ROOT / GOLDEN / "default.yaml").read_text()
        for old, new in (("podManagementPolicy: Parallel", "podManagementPolicy: OrderedReady"),
                         ("serviceName: ctr-ps", "serviceName: ctr-shards"), ("clusterIP: None", "clusterIP: 10.0.0.1"),
                         ("\n      app.kubernetes.io/component: worker\n", "\n      app.kubernetes.io/component: worker\n"
                          "      example.com/team: ads\n")):
            with self.subTest(change=new):
                self.assertNotEqual(impossible_upgrades(text, text.replace(old, new)), [])
        self.assertEqual(impossible_upgrades(text, text.replace("minReadySeconds: 5", "minReadySeconds: 6")), [])
        self.assertEqual([breaks("0.1.0", "0.1.1"), breaks("0.1.0", "0.2.0"), breaks("1.1.0", "1.2.0"),
                          breaks("1.1.0", "2.0.0")], [False, True, False, True])

    def test_the_changelog_begins_with_the_version_of_the_chart(self):
        headings = re.findall(r"(?m)^## (\S+)", (ROOT / "CHANGELOG.md").read_text())
        self.assertEqual(headings[0], self.chart["version"])

    def test_artifact_hub_is_told_what_this_version_changes(self):
        changes = yaml.safe_load(self.chart["annotations"]["artifacthub.io/changes"])
        self.assertTrue(changes)
        for change in changes:
            self.assertIn(change["kind"], KINDS)
            self.assertTrue(change["description"])
        commit = before()
        old = yaml.safe_load(git("show", f"{commit}:{CHART}")) if commit else self.chart
        if old["version"] != self.chart["version"]:
            self.assertNotEqual(changes, yaml.safe_load(old["annotations"]["artifacthub.io/changes"]),
                                f"these are the changes of {old['version']}")


if __name__ == "__main__":
    unittest.main(verbosity=2)
