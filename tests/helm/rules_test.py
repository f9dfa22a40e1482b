"""The recording rules and alerts: promtool reads them, and each alert fires in its case and is quiet in another."""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import yaml

FILES = pathlib.Path(__file__).resolve().parents[2] / "helm" / "capstan" / "files"
PROMTOOL = shutil.which("promtool")


def alerts_of(rules):
    return {rule["alert"] for group in rules["groups"] for rule in group["rules"] if "alert" in rule}


def only(alert, rules):
    """Of these rules the alert, and the recording rules by which it goes."""
    every = [rule for group in rules["groups"] for rule in group["rules"]]
    kept = [rule for rule in every if rule.get("alert") == alert]
    while more := [rule for rule in every if rule not in kept and any(rule.get("record", alert) in of["expr"] for of in kept)]:
        kept += more
    groups = [{**group, "rules": [rule for rule in group["rules"] if rule in kept]} for group in rules["groups"]]
    return {"groups": [group for group in groups if group["rules"]]}


class RulesTest(unittest.TestCase):

    def promtool(self, *arguments):
        done = subprocess.run([PROMTOOL, *arguments], capture_output=True, text=True, cwd=FILES)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_promtool_reads_them(self):
        self.promtool("check", "rules", "rules.yaml")

    def test_every_alert_fires_and_is_quiet_when_it_should(self):
        """Each alert is evaluated beside the recording rules by which it goes: no rule asks what another alert does, and all rules at
        every step of every case would take many times as long."""
        rules, cases = (yaml.safe_load((FILES / name).read_text()) for name in ("rules.yaml", "rules_test.yaml"))
        with tempfile.TemporaryDirectory() as scratch:
            files = []
            for alert in alerts_of(rules):
                own = [case for case in cases["tests"] if case["name"].split()[0] == alert]
                asked = set(re.findall(r'alertname="(\w+)"', str([case["promql_expr_test"] for case in own])))
                self.assertEqual(asked, {alert}, "its cases ask for no other alert, of which there is nothing here")
                (pathlib.Path(scratch) / f"rules-{alert}.yaml").write_text(yaml.safe_dump(only(alert, rules)))
                files.append(pathlib.Path(scratch) / f"{alert}.yaml")
                files[-1].write_text(yaml.safe_dump({**cases, "rule_files": [f"rules-{alert}.yaml"], "tests": own}))
            self.promtool("test", "rules", *map(str, files))

    def test_no_rule_goes_by_an_alert(self):
        self.assertNotIn("ALERTS", (FILES / "rules.yaml").read_text())

    def test_every_alert_has_both_cases(self):
        alerts = alerts_of(yaml.safe_load((FILES / "rules.yaml").read_text()))
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
