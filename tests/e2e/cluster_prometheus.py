"""The Prometheus of $CAPSTAN_KUBE, with the scrape configuration that the chart ships and the chart's rules."""

import json
import pathlib
import tempfile
import time

import yaml

from cluster import CHART, KUBE, run
from prometheus import rules_of

URL = "http://198.18.0.1:9090"


class ClusterPrometheus:
    """Scrapes once a second. `rules`: [(namespace, job, speed)], whose rules are those of the chart with every duration in them
    `speed` times as short."""

    def __init__(self, rules=()):
        self.rules = rules
        self.folder = tempfile.TemporaryDirectory()

    def __enter__(self):
        folder = pathlib.Path(self.folder.name)
        config = yaml.safe_load((CHART / "files" / "scrape.yaml").read_text())
        config["scrape_configs"][0]["scrape_interval"] = "1s"
        config["rule_files"] = ["rules-*.yaml"]
        for namespace, job, speed in self.rules:
            rules = rules_of(job, speed, namespace)
            for group in rules["groups"]:
                group["name"] += f".{namespace}"
            (folder / f"rules-{namespace}.yaml").write_text(yaml.safe_dump(rules))
        (folder / "prometheus.yaml").write_text(yaml.safe_dump(config))
        run(KUBE, "prometheus", "up", folder / "prometheus.yaml")
        return self

    def __exit__(self, *_):
        run(KUBE, "prometheus", "down", check=False)
        self.folder.cleanup()

    def _ask(self, kind, expression, **words):
        words = [word for key, value in {"query": expression, **words}.items()
                 for word in ("--data-urlencode", f"{key}={value}")]
        reply = run(KUBE, "exec", "--", "curl", "--silent", "--get", f"{URL}/api/v1/{kind}", *words).stdout
        return json.loads(reply)["data"]["result"]

    def query(self, expression):
        """The labels of each series that has a value now."""
        return [one["metric"] for one in self._ask("query", expression)]

    def values(self, expression):
        return [float(one["value"][1]) for one in self._ask("query", expression)]

    def fired(self, namespace, since):
        """The names of the alerts that have fired for jobs of that namespace since then (of time.time())."""
        series = self._ask("query_range", f'ALERTS{{alertstate="firing",namespace="{namespace}"}}', start=since,
                           end=time.time(), step=0.5)
        return _names(one["metric"] for one in series)

    def firing(self, namespace):
        """The same for those that fire now."""
        return _names(self.query(f'ALERTS{{alertstate="firing",namespace="{namespace}"}}'))

    def until_quiet(self, namespace, timeout=180):
        """Until none of them fires."""
        deadline = time.monotonic() + timeout
        while firing := self.firing(namespace):
            if time.monotonic() > deadline:
                raise AssertionError(f"these fire in {namespace}, and nothing has befallen it: {firing}")
            time.sleep(1)


def _names(series):
    return sorted({one["alertname"].removeprefix("Capstan") for one in series})
