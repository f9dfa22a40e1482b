"""Finds helm, and renders the chart for the tests."""

import copy
import functools
import os
import pathlib
import shutil
import subprocess

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
CHART = ROOT / "helm" / "capstan"
SETS = sorted(path.name.removesuffix("-values.yaml") for path in (CHART / "ci").glob("*-values.yaml"))
KUBE = os.environ.get("CAPSTAN_KUBE")
JOB = pathlib.Path(__file__).parent / "job-values.yaml"
SKIP = 77  # The exit code that ctest shows as skipped.
LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # That of libyaml, where there is one, takes a tenth of the time.


def _tools_of_kube():
    """The folder of the programs that the kube tool has built; None without it."""
    if not KUBE:
        return None
    done = subprocess.run([KUBE, "env"], capture_output=True, text=True, check=False)
    for line in done.stdout.splitlines():
        if line.startswith("CAPSTAN_KUBE_BIN="):
            return pathlib.Path(line.split("=", 1)[1].strip("'\""))
    return None


def find_helm():
    """$HELM, that of the PATH, or the one that the kube tool has built; None if there is none."""
    if found := os.environ.get("HELM") or shutil.which("helm"):
        return found
    tools = _tools_of_kube()
    return str(tools / "helm") if tools and (tools / "helm").exists() else None


HELM = find_helm()


def helm(*arguments):
    return subprocess.run([HELM, *map(str, arguments)], capture_output=True, text=True, check=False)


def values_of(name):
    return CHART / "ci" / f"{name}-values.yaml"


def template(*arguments, release="ctr", namespace="training"):
    """The rendered text; raises with helm's own words. The same question is asked once. Arguments that name no file hold
    for the job of job-values.yaml."""
    words = tuple(map(str, arguments))
    if not {"--values", "--set-file"} & set(words):
        words = ("--values", str(JOB), *words)
    return _template(words, release, namespace)


@functools.lru_cache(maxsize=None)
def _template(arguments, release, namespace):
    done = helm("template", release, CHART, "--namespace", namespace, *arguments)
    if done.returncode != 0:
        raise ValueError(done.stderr.strip())
    return done.stdout


def objects(*arguments, **options):
    """Those of a render, the caller's own. The same text is read once: dozens of tests ask for the objects of each set of values."""
    return copy.deepcopy(_objects(template(*arguments, **options)))


@functools.lru_cache(maxsize=64)
def _objects(text):
    return [one for one in yaml.load_all(text, LOADER) if one]


def of_kind(found, kind, component=None):
    return [one for one in found if one["kind"] == kind and component in
            (None, one["metadata"].get("labels", {}).get("app.kubernetes.io/component"))]


def pods(found):
    """(name, pod spec, pod metadata) of everything that makes pods."""
    for one in found:
        if one["kind"] in ("Deployment", "StatefulSet", "Job"):
            template_ = one["spec"]["template"]
            yield one["metadata"]["name"], template_["spec"], template_["metadata"]
        elif one["kind"] == "Pod":
            yield one["metadata"]["name"], one["spec"], one["metadata"]


def containers(pod):
    return pod["containers"] + pod.get("initContainers", [])


def require_helm():
    if HELM is None:
        print("SKIPPED: no helm ($HELM, PATH, $CAPSTAN_KUBE); the chart was not tested")
        raise SystemExit(SKIP)


def rendered(name):
    return objects("--values", values_of(name))


def job_of(found):
    """What the chief of these objects reads."""
    config, = (one for one in found if one["kind"] == "ConfigMap" and "job.yaml" in one["data"])
    return yaml.safe_load(config["data"]["job.yaml"])
