"""The recording rules and alerts: promtool reads them, and each alert fires in its case and is quiet in another."""

import pathlib
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

    def test_every_selector_can_be_put_down_to_a_release(self):
        for group in yaml.safe_load((FILES / "rules.yaml").read_text())["groups"]:
            for rule in group["rules"]:
                for part in rule["expr"].split("capstan_")[1:]:
                    selector = part[part.index("{"):part.index("}")]
                    self.assertIn('job_name=~".+"', selector, rule)


if __name__ == "__main__":
    if PROMTOOL is None:
        print("SKIPPED: no promtool (Debian: apt-get install prometheus); the alerts were not tested")
        sys.exit(77)
    unittest.main(verbosity=2)
