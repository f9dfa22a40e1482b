"""A real Prometheus that scrapes jobs of crew.Crew under the labels that the chart's PodMonitor gives."""

import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

import yaml

from held_port import HeldPort

ROOT = pathlib.Path(__file__).resolve().parents[2]
RULES = ROOT / "helm" / "capstan" / "files" / "rules.yaml"
DASHBOARDS = ROOT / "dashboards"
NAMESPACE = "local"


def require_prometheus():
    if shutil.which("prometheus") is None:
        print("SKIPPED: no prometheus (Debian: apt-get install prometheus); no query was tried")
        sys.exit(77)


def rules_of(job, speed=1, namespace=NAMESPACE):
    """The rules of the chart, for that job of that namespace, as if every duration in them were `speed` times as short."""
    def shorter(duration):
        number, unit = filter(None, duration.groups())
        seconds = int(number) * {"s": 1, "m": 60, "h": 3600}[unit]
        return f"{round(1000 * seconds / speed)}ms"

    text = RULES.read_text().replace('namespace="ns",job_name="ctr"', f'namespace="{namespace}",job_name="{job}"')
    text = text.replace('"job_name", "ctr"', f'"job_name", "{job}"').replace('namespace="ns"', f'namespace="{namespace}"')
    rules = yaml.safe_load(text.replace('"ctr-worker"', f'"{job}-worker"').replace('pod=~"ctr-', f'pod=~"{job}-'))
    for group in rules["groups"]:
        group["name"] += f".{job}"
        group["interval"] = f"{round(15000 / speed)}ms"
        for rule in group["rules"]:
            rule["expr"] = re.sub(r"(?<=[\[:])(\d+)([smh])(?=[\]:])|(?<=offset )(\d+)([smh])", shorter, rule["expr"])
            if "for" in rule:
                rule["for"] = re.sub(r"(\d+)([smh])", shorter, rule["for"])
    return rules


class Prometheus:
    """`crews`: {name of the job: Crew}. Processes that join later are found by `discover`. `speed`: time goes so many
    times as fast for the rules; 15: as if there were a scrape and an evaluation every 15 s. `others`: addresses of further targets,
    that say themselves of whom they speak."""

    def __init__(self, crews, speed=15, others=()):
        self.crews, self.speed, self.others = crews, speed, others
        self.keep_dead = False  # Whether processes that were killed are still asked, as pods are while they restart.
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="capstan-prometheus-"))
        self.port = HeldPort()
        self.url = f"http://{self.port.address}"

    def __enter__(self):
        self.discover()
        for job in self.crews:
            (self.folder / f"rules-{job}.yaml").write_text(yaml.safe_dump(rules_of(job, self.speed)))
        interval = f"{round(15000 / self.speed)}ms"
        (self.folder / "prometheus.yaml").write_text(yaml.safe_dump({
            "global": {"scrape_interval": interval, "scrape_timeout": interval, "evaluation_interval": interval},
            "rule_files": ["rules-*.yaml"],
            "scrape_configs": [
                {"job_name": "capstan", "file_sd_configs": [{"files": ["targets.json"], "refresh_interval": "1s"}]},
                {"job_name": "others", "honor_labels": True, "static_configs": [{"targets": list(self.others)}]}]}))
        log = open(self.folder / "log", "wb")
        self.process = subprocess.Popen(
            ["prometheus", f"--config.file={self.folder}/prometheus.yaml",
             f"--storage.tsdb.path={self.folder}/data", f"--web.listen-address={self.port.address}"],
            stdout=log, stderr=log, stdin=subprocess.DEVNULL)
        log.close()
        self._until_ready()
        return self

    def __exit__(self, kind, value, trace):
        self.process.terminate()
        self.process.wait(30)
        self.port.close()
        shutil.rmtree(self.folder)

    def _until_ready(self):
        deadline = time.monotonic() + 60
        while True:
            try:
                return urllib.request.urlopen(f"{self.url}/-/ready", timeout=5).close()
            except (urllib.error.URLError, OSError):
                if time.monotonic() > deadline or self.process.poll() is not None:
                    raise AssertionError((self.folder / "log").read_text()[-2000:]) from None
                time.sleep(0.1)

    def discover(self):
        """Tells Prometheus of every process that there is now."""
        targets = []
        for job, crew in self.crews.items():
            for name, process in crew.processes.items():
                if process.poll() is not None and not (self.keep_dead and process.poll() < 0):
                    continue
                role = name.split("-")[0]
                labels = {"namespace": NAMESPACE, "job_name": job, "role": role, "pod": f"{job}-{name}"}
                if role == "ps":
                    labels["shard"] = name
                targets.append({"targets": [f"127.0.0.1:{crew.ports(name)['metrics']}"], "labels": labels})
        (self.folder / "targets.json.new").write_text(json.dumps(targets))
        (self.folder / "targets.json.new").rename(self.folder / "targets.json")

    def _ask(self, kind, expression, **words):
        words = urllib.parse.urlencode({"query": expression, **words})
        try:
            with urllib.request.urlopen(f"{self.url}/api/v1/{kind}?{words}", timeout=20) as reply:
                return json.load(reply)["data"]["result"]
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{expression}: {error.read().decode()}") from None

    def query(self, expression):
        """[(labels, value)] now; those that are not a number are left out."""
        result = self._ask("query", expression)
        return [(one["metric"], float(one["value"][1])) for one in result if one["value"][1] != "NaN"]

    def happened(self, expression, since):
        """Whether it had a value at any time since then (of time.time())."""
        return bool(self._ask("query_range", expression, start=since, end=time.time(), step=1))


def dashboard_queries(job, rate_interval="10s"):
    """{(dashboard, panel, query)} with the variables filled in, annotations and variables too."""
    found = set()
    for path in sorted(DASHBOARDS.glob("*.json")):
        board = json.loads(path.read_text())
        queries = [(panel["title"], one["expr"]) for panel in board["panels"] for one in panel.get("targets", [])]
        queries += [(f"annotation {one['name']}", one["expr"]) for one in board["annotations"]["list"]]
        for variable in board["templating"]["list"]:
            if variable["type"] == "query":
                series, _ = re.fullmatch(r"label_values\((.*), (\w+)\)", variable["query"]["query"]).groups()
                queries.append((f"variable {variable['name']}", series))
        for title, query in queries:
            for name, value in (("$namespace", NAMESPACE), ("$release", job), ("$shard", ".+"), ("$worker", ".+"),
                                ("$__rate_interval", rate_interval)):
                query = query.replace(name, value)
            found.add((path.stem, title, query))
    return found


def rule_selectors():
    """{(rule, selector)} of every metric of ours in every rule."""
    found = set()
    for group in yaml.safe_load(RULES.read_text())["groups"]:
        for rule in group["rules"]:
            for selector in re.findall(r"\b(?:job:)?capstan_[\w:]+\{[^}]*\}", rule["expr"]):
                selector = selector.replace('namespace="ns",job_name="ctr"', f'namespace="{NAMESPACE}"')
                found.add((rule.get("alert") or rule["record"], selector))
    return found
