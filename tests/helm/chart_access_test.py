"""Who may reach what: network policies, keys of the object store, and rights in the cluster."""

import pathlib
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))
from chart import JOB, containers, objects, of_kind, pods, rendered, require_helm, template, values_of


class ChartAccessTest(unittest.TestCase):

    def test_whoever_scales_the_workers_to_zero_may_do_that_alone(self):
        found = objects("--set", "wait.autoScaleToZero=true")
        role, = of_kind(found, "Role")
        self.assertEqual(role["rules"], [{"apiGroups": ["apps"], "resources": ["deployments/scale"],
                                          "resourceNames": ["ctr-worker"], "verbs": ["get", "patch"]}])
        binding, = of_kind(found, "RoleBinding")
        self.assertEqual(binding["roleRef"]["name"], role["metadata"]["name"])
        job, = of_kind(found, "Job")
        spec = job["spec"]["template"]["spec"]
        self.assertEqual([one["name"] for one in binding["subjects"]], [spec["serviceAccountName"]])
        self.assertEqual([name for name, pod, _ in pods(found) if pod["serviceAccountName"] == spec["serviceAccountName"]],
                         [job["metadata"]["name"]])
        self.assertIn("--then-scale-to-zero=ctr-worker", spec["containers"][0]["args"])

    def test_workers_may_have_an_identity_of_their_own(self):
        def secrets(found):
            return {name: [one["secret"]["secretName"] for one in pod.get("volumes", []) if one["name"] == "s3-keys"]
                    for name, pod, _ in pods(found)}

        def accounts(found):
            return {name: pod["serviceAccountName"] for name, pod, _ in pods(found)}

        keys = ["--set", "s3.existingSecret=writer"]
        self.assertEqual(secrets(objects(*keys))["ctr-worker"], ["writer"])
        found = secrets(objects(*keys, "--set", "s3.workerSecret=reader"))
        self.assertEqual((found["ctr-worker"], found["ctr-chief"], found["ctr-ps"]), (["reader"], ["writer"], ["writer"]))
        alone = objects("--set", "s3.workerSecret=reader")
        self.assertEqual((secrets(alone)["ctr-worker"], secrets(alone)["ctr-ps"]), (["reader"], []))
        self.assertEqual([name for name, pod, _ in pods(alone) for one in pod["containers"]
                          if any(env["name"] == "CAPSTAN_S3_KEYS" for env in one.get("env", []))], ["ctr-worker"])

        self.assertEqual(set(accounts(objects()).values()), {"ctr"})
        own = objects("--set", "serviceAccount.worker.create=true", "--set", "serviceAccount.worker.annotations.role=reader")
        self.assertEqual([name for name, account in accounts(own).items() if account == "ctr-worker"], ["ctr-worker"])
        made = {one["metadata"]["name"]: one["metadata"].get("annotations", {}) for one in of_kind(own, "ServiceAccount")}
        self.assertEqual(made, {"ctr": {}, "ctr-worker": {"role": "reader"}})
        named = accounts(objects("--set", "serviceAccount.worker.name=theirs"))
        self.assertEqual((named["ctr-worker"], named["ctr-ps"]), ("theirs", "ctr"))

    def remote_ports(self, *values, job_file=JOB):
        """{role: the ports that it reaches at any address} behind network policies, of this job and these values."""
        words = [word for value in ("networkPolicy.enabled=true", *values) for word in ("--set", value)]
        policies = of_kind(objects("--values", job_file, *words), "NetworkPolicy")
        return {one["metadata"]["labels"]["app.kubernetes.io/component"]:
                {port["port"] for rule in one["spec"]["egress"] if not rule.get("to") for port in rule["ports"]}
                for one in policies}

    def test_behind_network_policies_who_has_an_object_store_reaches_its_port_and_nobody_else_any_address(self):
        data, state = "job.data.train=s3://bucket/part-*", "job.checkpoint.uri=s3://bucket/ctr"
        for values, roles in (((data, state), {"chief", "ps", "worker"}), ((data,), {"chief", "worker"}),
                              ((state,), {"chief", "ps"}), (("chief.from=s3://bucket/before/checkpoints/1-a",), {"chief", "ps"}),
                              ((), set())):
            for endpoint, port in (("", 443), ("http://minio.storage.svc:9000", 9000), ("http://store", 80),
                                   ("https://store.example.com", 443)):
                got = self.remote_ports(*values, f"s3.endpoint={endpoint}", "s3.allowHttp=true")
                self.assertEqual({role: ports for role, ports in got.items() if ports}, {role: {port} for role in roles},
                                 (values, endpoint))
        self.assertEqual(self.remote_ports("wait.autoScaleToZero=true", job_file=values_of("default"))["wait"], {443, 6443})

    def test_behind_network_policies_a_role_without_keys_reaches_the_agent_that_gives_it_some(self):
        """EKS Pod Identity, at two link-local addresses."""
        def agents(*values):
            words = [word for value in ("networkPolicy.enabled=true", *values) for word in ("--set", value)]
            return {one["metadata"]["labels"]["app.kubernetes.io/component"]: {peer["ipBlock"]["cidr"] for peer in rule["to"]}
                    for one in of_kind(objects(*words), "NetworkPolicy") for rule in one["spec"]["egress"]
                    if rule["ports"] == [{"port": 80, "protocol": "TCP"}]}

        both, state = {"169.254.170.23/32", "fd00:ec2::23/128"}, "job.checkpoint.uri=s3://bucket/ctr"
        self.assertEqual(agents(state), {"chief": both, "ps": both})
        self.assertEqual(agents(state, "s3.existingSecret=keys"), {})
        self.assertEqual(agents(), {})
        own = agents("job.data.train=s3://bucket/part-*", state, "s3.workerSecret=keys")
        self.assertEqual(own, {"chief": both, "ps": both})

    def test_behind_network_policies_a_chief_reaches_the_other_chiefs_of_the_namespace_and_itself(self):
        """Whose job it finds taken it asks whether it is still there, and `capstan status` in its pod goes by the Service."""
        chiefs = {"podSelector": {"matchLabels": {"app.kubernetes.io/name": "capstan", "app.kubernetes.io/component": "chief"}}}
        for policy in of_kind(objects("--set", "networkPolicy.enabled=true"), "NetworkPolicy"):
            rules = [*policy["spec"]["ingress"], *policy["spec"]["egress"]]
            found = [rule["ports"] for rule in rules if chiefs in [*rule.get("from", []), *rule.get("to", [])]]
            role = policy["metadata"]["labels"]["app.kubernetes.io/component"]
            self.assertEqual(found, [[{"port": 7000, "protocol": "TCP"}]] * 2 if role == "chief" else [], role)

    def test_behind_network_policies_the_clusters_dns_answers_and_the_monitoring_asks(self):
        for policy in of_kind(objects("--set", "networkPolicy.enabled=true"), "NetworkPolicy"):
            dns, = (rule for rule in policy["spec"]["egress"] if {"port": 53, "protocol": "UDP"} in rule["ports"])
            self.assertEqual(dns["to"], [{
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "kube-system"}},
                "podSelector": {"matchLabels": {"k8s-app": "kube-dns"}}}])
            for rule in policy["spec"]["ingress"]:
                if {"port": 9090, "protocol": "TCP"} in rule["ports"]:
                    namespaces = [peer["namespaceSelector"] for peer in rule["from"] if "namespaceSelector" in peer]
                    self.assertEqual(namespaces, [{"matchLabels": {"kubernetes.io/metadata.name": "monitoring"}}])

    def test_static_keys_are_files_of_the_secret_and_an_identity_needs_none(self):
        for name, keys in (("s3-static", True), ("s3-identity", False)):
            for pod, spec, _ in pods(rendered(name)):
                secrets = [one["secret"]["secretName"] for one in spec.get("volumes", []) if one["name"] == "s3-keys"]
                for one in containers(spec):
                    if one["args"][0] in ("status", "check"):
                        continue  # They ask the chief alone.
                    environment = {env["name"]: env.get("value") for env in one.get("env", [])}
                    mounts = {mount["name"]: mount["mountPath"] for mount in one.get("volumeMounts", [])}
                    named = "minio-reader" if pod == "ctr-worker" else "minio-keys"
                    self.assertEqual(secrets, [named] * keys, pod)
                    self.assertEqual(environment.get("CAPSTAN_S3_KEYS"), mounts.get("s3-keys"), pod)
                    self.assertEqual("s3-keys" in mounts, keys, pod)
                    self.assertFalse([key for key in environment if key.startswith("AWS") and "KEY" in key], pod)

    def test_network_policies_allow_what_is_needed_and_nothing_else(self):
        policies = {one["metadata"]["name"].removeprefix("ctr-"): one["spec"]
                    for one in of_kind(rendered("networkpolicy"), "NetworkPolicy")}
        self.assertEqual(set(policies), {"chief", "ps", "worker", "wait"})
        for role, spec in policies.items():
            self.assertEqual(spec["policyTypes"], ["Ingress", "Egress"])
            self.assertTrue(all(rule.get("ports") for rule in spec["ingress"] + spec["egress"]), role)

        def peers(rules, port):
            labels = [peer["podSelector"]["matchLabels"] for rule in rules if {"port": port, "protocol": "TCP"} in rule["ports"]
                      for peer in rule.get("from", rule.get("to", [])) if "podSelector" in peer]
            return {one.get("app.kubernetes.io/component") or one["app"] for one in labels}

        self.assertEqual(peers(policies["ps"]["ingress"], 7000), {"chief", "worker", "ps", "notebook"})
        self.assertEqual(peers(policies["ps"]["egress"], 7000), {"chief", "ps"})
        self.assertEqual(peers(policies["chief"]["ingress"], 7000), {"chief", "ps", "worker", "wait", "test", "dashboard", "notebook"})
        self.assertEqual(peers(policies["worker"]["egress"], 7000), {"chief", "ps"})
        self.assertEqual(peers(policies["worker"]["ingress"], 7000), set())


if __name__ == "__main__":
    require_helm()
    unittest.main(verbosity=2)
