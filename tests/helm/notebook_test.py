"""What a notebook's pod goes by is what the chart makes: the chief's address, the certificate's secret and folder, and the label."""

import importlib.util
import os
import pathlib
import sys
import unittest
from unittest import mock

import yaml

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))
from chart import ROOT, containers, objects, of_kind, pods, rendered, require_helm

EXAMPLE = ROOT / "deploy/examples/notebook/pod.yaml"


def module():
    """capstan_ps.kubernetes alone, which needs no other part of the package."""
    found = importlib.util.spec_from_file_location("kubernetes", ROOT / "python/capstan_ps/kubernetes.py")
    loaded = importlib.util.module_from_spec(found)
    found.loader.exec_module(loaded)
    return loaded


class NotebookTest(unittest.TestCase):

    def setUp(self):
        self.kubernetes = module()
        with open(EXAMPLE, encoding="utf-8") as text:
            self.pod = yaml.safe_load(text)

    def test_connect_asks_the_service_of_the_chief_however_long_the_releases_name_is(self):
        # One is cut behind a hyphen, with which a name cannot end.
        for release in ("ctr", "a" * 40, "b" * 41, "c" * 30 + "-" + "d" * 20, "e" * 53):
            service, = of_kind(objects(release=release), "Service", "chief")
            with mock.patch.dict(os.environ, {"KUBERNETES_SERVICE_HOST": "10.96.0.1"}):
                name, port = self.kubernetes.chief_of(f"training/{release}").split(":")
                self.assertEqual(self.kubernetes.chief_of(release).split(":")[0], service["metadata"]["name"])
            self.assertEqual(name, f"{service['metadata']['name']}.training.svc")
            self.assertEqual({one["name"]: one["port"] for one in service["spec"]["ports"]}["grpc"], int(port))

    def test_the_certificate_of_the_example_is_that_of_the_chart_where_connect_looks_for_it(self):
        certificates = {one["metadata"]["name"]: one["spec"] for one in rendered("readers") if one["kind"] == "Certificate"}
        volume, = (one["secret"] for one in self.pod["spec"]["volumes"] if one["name"] == "tls")
        self.assertEqual(certificates[volume["secretName"]]["dnsNames"], ["client.ctr.capstan"])
        mount, = (one for one in containers(self.pod["spec"])[0]["volumeMounts"] if one["name"] == "tls")
        self.assertEqual(mount["mountPath"], self.kubernetes.MOUNTED)
        for _, spec, _ in pods(rendered("readers")):
            self.assertIn(self.kubernetes.MOUNTED, [one["mountPath"] for one in spec["containers"][0]["volumeMounts"]])

    def test_network_policies_of_the_example_let_its_pod_in(self):
        for role in ("chief", "ps"):
            policy, = of_kind(rendered("readers"), "NetworkPolicy", role)
            peers = [peer for rule in policy["spec"]["ingress"] if {"port": 7000, "protocol": "TCP"} in rule["ports"] for peer in rule["from"]]
            self.assertIn({"podSelector": {"matchLabels": self.pod["metadata"]["labels"]}}, peers)

    def test_the_pod_of_the_example_is_as_restricted_as_those_of_the_chart(self):
        worker, = (spec for name, spec, _ in pods(rendered("readers")) if name == "ctr-worker")
        for key in ("runAsNonRoot", "runAsUser", "fsGroup", "seccompProfile"):
            self.assertEqual(self.pod["spec"]["securityContext"][key], worker["securityContext"][key])
        self.assertIs(self.pod["spec"]["automountServiceAccountToken"], False)
        self.assertEqual(containers(self.pod["spec"])[0]["securityContext"], worker["containers"][0]["securityContext"])


if __name__ == "__main__":
    require_helm()
    unittest.main(verbosity=2)
