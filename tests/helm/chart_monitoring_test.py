"""What the chart brings for Prometheus and Grafana: scraping, rules, dashboards."""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))
from chart import CHART, ROOT, objects, of_kind, rendered, require_helm

import yaml


PROMTOOL = shutil.which("promtool")


def monitored_every(interval):
    return objects("--set", "monitoring.rules.enabled=true", "--set", "monitoring.dashboards.enabled=true",
                   "--set", f"monitoring.podMonitor.interval={interval}", namespace="ns")


def windows(text):
    """The seconds over which rates are taken in a text."""
    return {60 * int(number) if unit == "m" else int(number)
            for number, unit in re.findall(r"\b(?:rate|increase|last_over_time)\([^()]*\[(\d+)([ms])\]", text)}


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

    def test_a_rate_is_over_four_scrapes_at_least(self):
        for interval, seconds in (("500ms", 60), ("15s", 60), ("20s", 80), ("60s", 240), ("1m", 240), ("90s", 360), ("2m", 480)):
            got = monitored_every(interval)
            rules, = of_kind(got, "PrometheusRule")
            self.assertEqual(min(windows(json.dumps(rules["spec"]))), seconds, interval)
            self.assertIn("[5m]) / 20 >", json.dumps(rules["spec"]), "values of a rule, and not of a scrape")
            boards = [json.loads(text) for one in of_kind(got, "ConfigMap")
                      for key, text in one["data"].items() if key.endswith(".json")]
            self.assertEqual(len(boards), 4)
            self.assertEqual(min(windows(json.dumps(boards))), seconds, interval)

    def test_queries_of_dashboards_say_how_far_scrapes_are_apart_if_it_is_further_than_grafana_takes_for_granted(self):
        for interval, said in (("15s", None), ("1m", "1m")):
            for one in of_kind(monitored_every(interval), "ConfigMap"):
                for key, text in one["data"].items():
                    if key.endswith(".json"):
                        queries = [target for panel in json.loads(text)["panels"] for target in panel.get("targets", [])
                                   if "expr" in target]
                        self.assertTrue(queries, key)
                        self.assertEqual({target.get("interval") for target in queries}, {said}, key)

    def test_scrapes_that_are_too_far_apart_for_rules_and_dashboards_are_refused(self):
        for made in ("rules.enabled", "rules.configMap", "dashboards.enabled"):
            for interval in ("3m", "121s", "120001ms"):
                with self.assertRaisesRegex(ValueError, rf"monitoring\.podMonitor\.interval: {interval} is too long for rules"):
                    objects("--set", f"monitoring.{made}=true", "--set", f"monitoring.podMonitor.interval={interval}")
        objects("--set", "monitoring.podMonitor.enabled=true", "--set", "monitoring.podMonitor.interval=5m")

    @unittest.skipIf(PROMTOOL is None, "no promtool (Debian: apt-get install prometheus)")
    def test_alerts_are_as_right_with_a_scrape_a_minute_or_two(self):
        for interval in ("60s", "2m"):
            rules, = of_kind(monitored_every(interval), "PrometheusRule")
            with tempfile.TemporaryDirectory() as folder:
                (pathlib.Path(folder) / "rules.yaml").write_text(yaml.safe_dump({"groups": only_sparse(rules["spec"]["groups"])}))
                cases = {"rule_files": ["rules.yaml"], "evaluation_interval": "15s",
                         "tests": [case for alert in SPARSE for case in sparse_cases(alert, interval)]}
                (pathlib.Path(folder) / "cases.yaml").write_text(yaml.safe_dump(cases))
                done = subprocess.run([PROMTOOL, "test", "rules", "cases.yaml"], cwd=folder, capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, interval + done.stdout + done.stderr)

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


def series(name, values, **labels):
    return {"series": f"{name}{{%s}}" % ",".join(f'{key}="{value}"' for key, value in
                                               {"namespace": "ns", "job_name": "ctr", **labels}.items()), "values": values}


RUNNING = series("capstan_training_state", "1x200", state="running")
# Of an alert: its severity, what is scraped when it is to fire in the second hour, and what when it is to be quiet. HOUR is the
# number of scrapes in the first one.
SPARSE = {
    "CapstanProgressBudget": (
        "critical", [RUNNING, series("capstan_samples_processed_total", "60000x200")],
        [RUNNING, series("capstan_samples_processed_total", "0+60000x200")]),
    "CapstanObjectStoreErrors": (
        "warning", [series("capstan_object_store_requests_total", "0+10x200", code="OK"),
                    series("capstan_object_store_requests_total", "0+5x200", code="UNAVAILABLE")],
        [series("capstan_object_store_requests_total", "0+10x200", code="OK")]),
    "CapstanLeaseChurn": (
        "warning", [series("capstan_task_lease_expirations_total", "0+1x200"), series("capstan_workers", "3x200", state="active")],
        # A node with half of forty workers has died, once.
        [series("capstan_task_lease_expirations_total", "0xHOUR 40x100"), series("capstan_workers", "20x200", state="active")]),
}


def only_sparse(groups):
    """Without the other alerts, of which no rule knows (rules_test.py): all of them at each step would take three times as long."""
    return [{**group, "rules": [rule for rule in group["rules"] if "record" in rule or rule["alert"] in SPARSE]} for group in groups]


def sparse_cases(alert, interval):
    """The cases of promtool in which an alert fires, and is quiet, with so long between the scrapes: at and between them."""
    severity, *cases = SPARSE[alert]
    hour = str(3600 // {"60s": 60, "2m": 120}[interval])
    query = f'ALERTS{{alertname="{alert}",alertstate="firing"}}'
    firing = [{"labels": f'{query[:-1]},job_name="ctr",namespace="ns",severity="{severity}"}}', "value": 1}]
    for case, scraped in zip(("fires", "is quiet"), cases):
        yield {"name": f"{alert} {case}", "interval": interval,
               "input_series": [{**one, "values": one["values"].replace("HOUR", hour)} for one in scraped],
               "promql_expr_test": [{"expr": query, "eval_time": f"{3600 + 45 * i}s",
                                     "exp_samples": firing if case == "fires" else []} for i in range(1, 21)]}


if __name__ == "__main__":
    require_helm()
    unittest.main(verbosity=2)
