"""The recording rules and alerts: promtool reads them, and each alert fires in its case and is quiet in another."""

import pathlib
import re
import shutil
import subprocess
import sys
import unittest

import yaml

FILES = pathlib.Path(__file__).resolve().parents[2] / "helm" / "capstan" / "files"
PROMTOOL = shutil.which("promtool")


class RulesTest(unittest.TestCase):

    def promtool(self, *arguments):
        done = subprocess.run([PROMTOOL, *arguments], capture_output=True, text=True, cwd=FILES)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_promtool_reads_them(self):
        self.promtool("check", "rules", "rules.yaml")

    def test_every_alert_fires_and_is_quiet_when_it_should(self):
        self.promtool("test", "rules", "rules_test.yaml")

    def test_every_alert_has_both_cases(self):
        groups = yaml.safe_load((FILES / "rules.yaml").read_text())["groups"]
        alerts = {rule["alert"] for group in groups for rule in group["rules"] if "alert" in rule}
        cases = {test["name"] for test in yaml.safe_load((FILES / "rules_test.yaml").read_text())["tests"]}
        self.assertEqual(cases, {f"{alert} {case}" for alert in alerts for case in ("fires", "is quiet")})

    def test_every_selector_is_one_of_the_releases(self):
        """So that the chart can put another release in its place."""
        for group in yaml.safe_load((FILES / "rules.yaml").read_text())["groups"]:
            for rule in group["rules"]:
                for selector in re.findall(r"\b(?:job:)?(?:capstan_|kube_|up)[\w:]*(?:\{[^}]*\})?", rule["expr"]):
                    self.assertIn('{namespace="ns",', selector, rule)
                    kind = r'deployment="ctr-worker"|pod=~"ctr-' if "kube_" in selector else 'job_name="ctr"'
                    self.assertRegex(selector, kind, rule)


if __name__ == "__main__":
    if PROMTOOL is None:
        print("SKIPPED: no promtool (Debian: apt-get install prometheus); the alerts were not tested")
        sys.exit(77)
    unittest.main(verbosity=2)
