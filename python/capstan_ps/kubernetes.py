"""Finds a job of the Helm chart on Kubernetes: the address of its chief, the pods of its shards, and the certificate of a pod."""

import hashlib
import os
import pathlib
import re

MOUNTED = "/etc/capstan-tls"
MOST_OF_A_NAME = 40
LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")


def chief_of(job):
    """Returns the host:port at which a pod of the cluster reaches the chief of `job`. `job` is `release`, in the pod's own namespace, or
    `namespace/release`. ValueError: it is neither."""
    *namespace, release = str(job).split("/")
    if len(namespace) > 1 or not all(LABEL.fullmatch(name) for name in (*namespace, release)):
        raise ValueError(f"kubernetes={job!r} is neither a release of Helm nor namespace/release")
    return ".".join((f"{_full_name(release)}-chief", *(f"{name}.svc" for name in namespace))) + ":7000"


def in_a_pod():
    """Returns whether this program runs in a pod, judging by the environment variables that Kubernetes sets."""
    return bool(os.environ.get("KUBERNETES_SERVICE_HOST"))


def service_of(address):
    """Returns (kubectl's name of the Service, its namespace or "", the port) for an address that `chief_of` has returned."""
    host, _, port = address.rpartition(":")
    name, *rest = host.split(".")
    return f"service/{name}", rest[0] if rest else "", port


def pod_of(address):
    """Returns (kubectl's name of the pod, its namespace, the port) for the address that the chart gives to a shard, such as
    ctr-ps-0.ctr-ps.training.svc.cluster.local:7000. ConnectionError: the address does not name a pod, so kubectl cannot reach it."""
    host, _, port = address.rpartition(":")
    name, *rest = host.split(".")
    known = len(rest) > 2 and rest[2] == "svc" and all(LABEL.fullmatch(label) for label in (name, rest[1])) and port.isdecimal()
    if not known:
        raise ConnectionError(f"a shard is known as {address!r}, which is no name of a pod of the chart: it cannot be reached from outside")
    return f"pod/{name}", rest[1], port


def _full_name(release):
    """Returns the name that capstan.fullname of the chart makes: a long one is cut, and a hash distinguishes it from others."""
    if len(release) <= MOST_OF_A_NAME:
        return release
    return f"{release[:31].removesuffix('-')}-{hashlib.sha256(release.encode()).hexdigest()[:8]}"


def tls_folder():
    """Returns the folder in which the chart and docs/tls.md mount the certificate; empty if there is no certificate."""
    return MOUNTED if (pathlib.Path(MOUNTED) / "tls.crt").exists() else ""
