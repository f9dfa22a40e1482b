"""external_metrics.py as the external metrics API of $CAPSTAN_KUBE's cluster, on its node."""

import base64
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

from authority import Authority
from cluster import KUBE, kubectl
from cluster_prometheus import URL

NODE, PORT = "198.18.0.1", 6780
SERVICE = "external-metrics"
API = "v1beta1.external.metrics.k8s.io"


class ExternalMetrics:
    """Serves what the Prometheus at URL knows, as long as the namespace is there and this is entered."""

    def __init__(self, namespace):
        self.namespace = namespace
        self.folder = tempfile.TemporaryDirectory()

    def __enter__(self):
        authority = Authority(pathlib.Path(self.folder.name) / "authority")
        certificate = authority.issue(authority.folder / "adapter", [f"{SERVICE}.{self.namespace.name}.svc"])
        program = pathlib.Path(__file__).parent / "external_metrics.py"
        self.server = subprocess.Popen([KUBE, "exec", "--", sys.executable, "-B", program, NODE, str(PORT), certificate / "tls.crt",
                                        certificate / "tls.key", URL], start_new_session=True)
        port = {"name": "https", "protocol": "TCP"}
        self.namespace.apply(
            {"apiVersion": "v1", "kind": "Service", "metadata": {"name": SERVICE},
             "spec": {"ports": [{**port, "port": 443, "targetPort": PORT}]}},
            {"apiVersion": "discovery.k8s.io/v1", "kind": "EndpointSlice",
             "metadata": {"name": SERVICE, "labels": {"kubernetes.io/service-name": SERVICE}}, "addressType": "IPv4",
             "ports": [{**port, "port": PORT}], "endpoints": [{"addresses": [NODE], "conditions": {"ready": True}}]},
            {"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": {"name": API},
             "spec": {"group": "external.metrics.k8s.io", "version": "v1beta1", "groupPriorityMinimum": 100, "versionPriority": 100,
                      "service": {"name": SERVICE, "namespace": self.namespace.name},
                      "caBundle": base64.b64encode((authority.folder / "ca.crt").read_bytes()).decode()}})
        kubectl("wait", "--for=condition=Available", f"apiservice/{API}", "--timeout=60s")
        return self

    def __exit__(self, *_):
        kubectl("delete", "apiservice", API, "--ignore-not-found", check=False)
        os.killpg(self.server.pid, signal.SIGTERM)
        self.server.wait()
        self.folder.cleanup()
