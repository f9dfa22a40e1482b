"""Where a job of the chart is on Kubernetes: its chief, its shards' pods, and the certificate that a pod has for it."""

import hashlib
import os
import pathlib
import re

MOUNTED = "/etc/capstan-tls"
MOST_OF_A_NAME = 40
LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")


def chief_of(job):
    """host:port by which a pod of the cluster knows the chief of `release`, in the pod's own namespace, or `namespace/release`.
    ValueError: it is neither."""
    *namespace, release = str(job).split("/")
    if len(namespace) > 1 or not all(LABEL.fullmatch(name) for name in (*namespace, release)):
        raise ValueError(f"kubernetes={job!r} is neither a release of Helm nor namespace/release")
    return ".".join((f"{_full_name(release)}-chief", *(f"{name}.svc" for name in namespace))) + ":7000"


def in_a_pod():
    """Whether this program runs in a pod, as far as Kubernetes' variables tell."""
    return bool(os.environ.get("KUBERNETES_SERVICE_HOST"))


def service_of(address):
    """(kubectl's name for the Service, its namespace or "", the port) of an address that `chief_of` has made."""
    host, _, port = address.rpartition(":")
    name, *rest = host.split(".")
    return f"service/{name}", rest[0] if rest else "", port


def pod_of(address):
    """(kubectl's name for the pod, its namespace, the port) of a shard, by the address that the chart gives it, such as
    ctr-ps-0.ctr-ps.training.svc.cluster.local:7000. ConnectionError: that is no pod's name, so kubectl cannot lead there."""
    host, _, port = address.rpartition(":")
    name, *rest = host.split(".")
    known = len(rest) > 2 and rest[2] == "svc" and all(LABEL.fullmatch(label) for label in (name, rest[1])) and port.isdecimal()
    if not known:
        raise ConnectionError(f"a shard is known as {address!r}, which is no name of a pod of the chart: it cannot be reached from outside")
    return f"pod/{name}", rest[1], port


def _full_name(release):
    """As capstan.fullname of the chart has it: a long one is cut, and told from others by a hash."""
    if len(release) <= MOST_OF_A_NAME:
        return release
    return f"{release[:31].removesuffix('-')}-{hashlib.sha256(release.encode()).hexdigest()[:8]}"


def tls_folder():
    """The folder of the certificate that is mounted where the chart and docs/tls.md have it; none: nothing."""
    return MOUNTED if (pathlib.Path(MOUNTED) / "tls.crt").exists() else ""
