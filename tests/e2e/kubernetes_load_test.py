"""What watches a job on a real cluster: Prometheus with the scrape configuration that the chart ships, and the HorizontalPodAutoscaler.
Needs the cluster of $CAPSTAN_KUBE, whose Prometheus and metrics API it starts. Skips, loudly, without it."""

import json
import pathlib
import sys
import tempfile
import time
import unittest

import yaml

sys.path.insert(0, str(pathlib.Path(__file__).parent))
sys.dont_write_bytecode = True
from cluster import CHART, KUBE, Namespace, Release, require_cluster, run
from cluster_jobs import synthetic


def scrape_config():
    """What the chart ships for a Prometheus without the operator, scraped more often."""
    config = yaml.safe_load((CHART / "files" / "scrape.yaml").read_text())
    config["scrape_configs"][0]["scrape_interval"] = "1s"
    return config


def query(expression):
    reply = run(KUBE, "exec", "--", "curl", "--silent", "--get", "http://198.18.0.1:9090/api/v1/query",
                "--data-urlencode", f"query={expression}").stdout
    return [one["metric"] for one in json.loads(reply)["data"]["result"]]


def until(condition, what, timeout=120):
    deadline = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"{what} did not come within {timeout} s")
        time.sleep(1)


class LoadTest(unittest.TestCase):

    def test_prometheus_sees_every_pod_once_under_the_promised_labels(self):
        with Namespace("capstan-e2e-scrape") as namespace, tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            yaml.safe_dump(scrape_config(), file)
            file.flush()
            run(KUBE, "prometheus", "up", file.name)
            release = Release(namespace, "ctr", synthetic(2000000))
            release.install("--wait", "--timeout=120s")
            everybody = f'up{{namespace="{namespace.name}"}} == 1'
            until(lambda: len(query(everybody)) == 4, "chief, two shards and a worker")
            seen = {(one["job_name"], one["role"], one.get("shard")) for one in query(everybody)}
            self.assertEqual(seen, {("ctr", "chief", None), ("ctr", "ps", "ps-0"), ("ctr", "ps", "ps-1"),
                                    ("ctr", "worker", None)})
            self.assertEqual({one["pod"] for one in query(everybody) if one["role"] != "worker"},
                             {"ctr-chief-0", "ctr-ps-0", "ctr-ps-1"})
            until(lambda: query(f'capstan_worker_steps_total{{namespace="{namespace.name}",role="worker"}} > 0'),
                  "a step of the worker")
            run(KUBE, "prometheus", "down")

    def test_the_autoscaler_adds_workers_under_load(self):
        run(KUBE, "metrics-server", "up")
        with Namespace("capstan-e2e-hpa") as namespace:
            release = Release(namespace, "ctr", {
                **synthetic(4000000), "worker": {"autoscaling": {"enabled": True, "minReplicas": 1, "maxReplicas": 2}}})
            release.install()
            # A worker asks for 10m of a CPU, and takes what it gets.
            until(lambda: namespace.get("deployment", "ctr-worker")["spec"]["replicas"] == 2, "a second worker", 180)
            release.until_workers(2)
        run(KUBE, "metrics-server", "down")


if __name__ == "__main__":
    require_cluster()
    if not KUBE:
        print("SKIPPED: no $CAPSTAN_KUBE to start Prometheus and the metrics API with")
        sys.exit(77)
    unittest.main(verbosity=2)
