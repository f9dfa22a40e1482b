"""What the chart brings for Prometheus and Grafana: scraping, rules, dashboards."""

import json
import pathlib
import re
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))
from chart import CHART, ROOT, objects, of_kind, rendered, require_helm

import yaml


class ChartMonitoringTest(unittest.TestCase):

    def test_each_pod_is_scraped_once_under_the_promised_labels(self):
        monitor, = of_kind(rendered("monitoring"), "PodMonitor")
        endpoint, = monitor["spec"]["podMetricsEndpoints"]
        self.assertEqual({rule.get("targetLabel") for rule in endpoint["relabelings"]},
                         {"job_name", "role", "shard", None})
        self.assertEqual(of_kind(rendered("monitoring"), "ServiceMonitor"), [])

    def test_the_scrape_configuration_without_the_operator_is_the_pod_monitors(self):
        monitor, = of_kind(rendered("monitoring"), "PodMonitor")
        endpoint, = monitor["spec"]["podMetricsEndpoints"]
        config, = yaml.safe_load((CHART / "files" / "scrape.yaml").read_text())["scrape_configs"]
        label = "__meta_kubernetes_pod_label_app_kubernetes_io_"
        ours = [{re.sub("[A-Z]", lambda upper: "_" + upper.group().lower(), key): value for key, value in one.items()}
                for one in endpoint["relabelings"]]
        self.assertEqual(config["relabel_configs"][-len(ours):], ours)
        one_of, = monitor["spec"]["selector"]["matchExpressions"]
        keeps = {one["source_labels"][0]: one["regex"] for one in config["relabel_configs"] if one.get("action") == "keep"}
        self.assertEqual(keeps, {f"{label}name": "capstan", f"{label}component": "|".join(one_of["values"]),
                                 "__meta_kubernetes_pod_container_port_name": endpoint["port"]})

    def test_rules_are_those_of_the_release_and_their_runbooks_exist(self):
        rule, = of_kind(rendered("monitoring"), "PrometheusRule")
        text = json.dumps(rule["spec"])
        self.assertNotIn('namespace=\\"ns\\"', text)
        anchors = {line[3:].strip().lower() for line in (ROOT / "docs" / "runbooks.md").read_text().splitlines()
                   if line.startswith("## ")}
        alerts = [one for group in rule["spec"]["groups"] for one in group["rules"] if "alert" in one]
        self.assertEqual({one["alert"].lower() for one in alerts}, anchors)
        for one in alerts:
            self.assertEqual(set(one["annotations"]), {"summary", "description", "runbook_url"}, one["alert"])
            self.assertTrue(one["annotations"]["runbook_url"].startswith("https://"))
            self.assertIn(one["annotations"]["runbook_url"].split("#")[1], anchors)
            self.assertIn(one["labels"]["severity"], ("info", "warning", "critical"))
            self.assertRegex(one["expr"], 'job_name="ctr"|"job_name", "ctr"')

    def test_rules_name_the_workloads_of_a_release_with_a_long_name_or_another(self):
        for arguments, release in ((["--set", "fullnameOverride=other"], "ctr"), ([], "r" * 50)):
            got = objects("--set", "monitoring.rules.enabled=true", *arguments, release=release)
            worker, = [one["metadata"]["name"] for one in of_kind(got, "Deployment")]
            chief = next(one["metadata"]["name"] for one in of_kind(got, "StatefulSet")
                         if one["metadata"]["name"].endswith("-chief"))
            text = json.dumps(of_kind(got, "PrometheusRule")[0]["spec"])
            self.assertEqual(set(re.findall(r'deployment=\\\\?"([^"\\]*)', text)), {worker})
            self.assertIn(chief.removesuffix("chief") + "(chief|ps|worker|serve)-", text)
            self.assertEqual(set(re.findall(r'job_name=\\\\?"([^"\\]*)', text)), {release})

    def test_a_certificate_is_an_alert_a_week_before_its_end_or_half_of_the_time_before_which_it_is_renewed(self):
        for before, seconds in ((None, 604800), ("8h", 14400), ("1h30m", 2700)):
            words = ["--set", f"tls.renewBefore={before}"] if before else []
            rules, = of_kind(objects("--set", "monitoring.rules.enabled=true", *words), "PrometheusRule")
            ending, = (rule for group in rules["spec"]["groups"] for rule in group["rules"] if rule.get("alert") == "CapstanCertificateEnding")
            self.assertRegex(ending["expr"], rf" - time\(\) < {seconds}$")
        with self.assertRaisesRegex(ValueError, "tls.renewBefore: .*is not a duration"):
            objects("--set", "monitoring.rules.enabled=true", "--set", "tls.renewBefore=30d")

    def test_every_panel_that_a_runbook_names_is_there(self):
        """A runbook names a dashboard, and behind it its panels in quotes."""
        panels = {board: {one["title"] for one in json.loads((ROOT / "dashboards" / f"{board.lower()}.json").read_text())["panels"]}
                  for board in ("Training", "Staleness", "Shards", "Durability")}
        named = re.findall(r'(Training|Staleness|Shards|Durability)(?: dashboard)?, ((?:(?:, | and )?"[^"]+")+)',
                           (ROOT / "docs" / "runbooks.md").read_text())
        self.assertGreaterEqual(len(named), 9)
        for board, titles in named:
            for title in re.findall('"([^"]+)"', titles):
                self.assertIn(title, panels[board])

    def test_dashboards_are_packed_as_they_are(self):
        maps = {key: text for one in of_kind(rendered("monitoring"), "ConfigMap")
                for key, text in one["data"].items() if key.endswith(".json")}
        files = {path.name: path.read_text() for path in (ROOT / "dashboards").glob("*.json")}
        self.assertEqual({name: json.loads(text) for name, text in maps.items()},
                         {name: json.loads(text) for name, text in files.items()})
        self.assertEqual(set(files), {"training.json", "staleness.json", "shards.json", "durability.json"})


if __name__ == "__main__":
    require_helm()
    unittest.main(verbosity=2)
