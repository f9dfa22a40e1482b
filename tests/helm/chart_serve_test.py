"""Pods that serve the job's newest version: what they are told, who may ask them, and what they may do."""

import json
import pathlib
import shlex
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))
from chart import containers, objects, of_kind, pods, rendered, require_helm, template

STORED = ("--set", "job.checkpoint.uri=s3://models/all/")
SERVED = (*STORED, "--set", "serve.enabled=true")


def serving(*more):
    """The Deployment, its pod and its container."""
    deployment, = of_kind(objects(*SERVED, *more), "Deployment", "serve")
    pod = deployment["spec"]["template"]["spec"]
    container, = containers(pod)
    return deployment, pod, container


class ChartServeTest(unittest.TestCase):

    def test_there_is_none_unless_it_is_wished(self):
        self.assertEqual([one for one in objects(*STORED) if "serve" in one["metadata"]["name"]], [])

    def test_it_waits_for_the_versions_in_the_folder_of_the_job(self):
        _, _, container = serving()
        self.assertEqual(container["args"], ["serve", "s3://models/all/ctr", "--wait", "--port=8080", "--health-port=7001",
                                             "--metrics-port=9090", "--linger=5", "--name=ctr"])
        _, _, container = serving("--set", "job.job=clicks", "--set", "serve.modelName=newest", "--set", "serve.extraArgs={--every=5}")
        self.assertEqual((container["args"][1], container["args"][-2:]), ("s3://models/all/clicks", ["--name=newest", "--every=5"]))
        self.assertRegex(container["image"], r"^capstan/cli:")

    def test_it_is_refused_where_there_is_nothing_to_serve(self):
        for reason, *values in (("needs job.checkpoint.uri", "serve.enabled=true"),
                                ("say it in worker.command", "serve.enabled=true", "job.checkpoint.uri=s3://models", "job.model.user=mine.py",
                                 "worker.image.repository=mine", "worker.image.tag=v1"),
                                ("is on no volume of the pods that serve", "serve.enabled=true", "job.checkpoint.uri=/mine",
                                 "ps.extraVolumeMounts[0].name=mine", "ps.extraVolumeMounts[0].mountPath=/mine")):
            with self.assertRaisesRegex(ValueError, reason):
                template(*(word for value in values for word in ("--set", value)))

    def test_a_model_of_ones_own_is_served_by_the_workers_program_in_their_image(self):
        pod, = (spec for name, spec, _ in pods(rendered("python-serve")) if name == "ctr-serve")
        worker, = (spec for name, spec, _ in pods(rendered("python-serve")) if name == "ctr-worker")
        container, = pod["containers"]
        self.assertEqual((container["image"], container["command"], container["workingDir"]),
                         (worker["containers"][0]["image"], ["capstan"], "/app"))
        said, = (one.removeprefix("--program=") for one in container["args"] if one.startswith("--program="))
        self.assertEqual(shlex.split(said), [*worker["containers"][0]["command"], *worker["containers"][0]["args"]])
        self.assertEqual({one["mountPath"] for one in container["volumeMounts"]}, {"/app", "/tmp", "/checkpoints"})
        self.assertIn({"name": "HOME", "value": "/tmp"}, container["env"])
        deployments = {one["metadata"]["name"]: one["spec"]["template"]["metadata"]["annotations"]
                       for one in of_kind(rendered("python-serve"), "Deployment")}
        self.assertEqual(deployments["ctr-serve"]["checksum/code"], deployments["ctr-worker"]["checksum/code"])

    def test_it_is_asked_over_http_and_its_health_at_a_port_that_requests_do_not_fill(self):
        _, _, container = serving()
        self.assertEqual(container["livenessProbe"]["httpGet"], {"path": "/v2/health/live", "port": "health"})
        self.assertEqual(container["readinessProbe"]["httpGet"], {"path": "/v2/health/ready", "port": "health"})
        service, = of_kind(objects(*SERVED), "Service", "serve")
        self.assertEqual([(port["port"], port["targetPort"]) for port in service["spec"]["ports"]], [(80, "http")])
        self.assertEqual([(port["name"], port["containerPort"]) for port in container["ports"]],
                         [("http", 8080), ("health", 7001), ("metrics", 9090)])

    def test_no_pod_goes_before_the_next_one_is_ready(self):
        deployment, pod, _ = serving()
        self.assertEqual(deployment["spec"]["strategy"]["rollingUpdate"], {"maxSurge": 1, "maxUnavailable": 0})
        self.assertGreaterEqual(pod["terminationGracePeriodSeconds"], 25 + 5)
        self.assertEqual(deployment["spec"]["progressDeadlineSeconds"], 86400, "the first checkpoint may be long in coming")
        budgets = [of_kind(objects(*SERVED, "--set", f"serve.replicas={n}"), "PodDisruptionBudget", "serve") for n in (1, 2)]
        self.assertEqual([len(found) for found in budgets], [0, 1])
        self.assertNotIn("replicas", serving("--set", "serve.replicas=null")[0]["spec"])

    def test_it_reads_and_writes_nothing(self):
        keys = ("--set", "s3.existingSecret=writer")
        for more, secret in ((keys, "writer"), ((*keys, "--set", "s3.serveSecret=reader"), "reader")):
            _, pod, container = serving(*more)
            self.assertEqual([one["secret"]["secretName"] for one in pod["volumes"]], [secret])
            self.assertIn({"name": "CAPSTAN_S3_KEYS", "value": "/etc/capstan-s3"}, container["env"])
        for more, account in (((), "ctr"), (("--set", "serviceAccount.serve.create=true"), "ctr-serve"),
                              (("--set", "serviceAccount.serve.name=theirs"), "theirs")):
            found = objects(*SERVED, *more)
            accounts = {name: pod["serviceAccountName"] for name, pod, _ in pods(found)}
            self.assertEqual((accounts["ctr-serve"], accounts["ctr-ps"]), (account, "ctr"))
            self.assertEqual({one["metadata"]["name"] for one in of_kind(found, "ServiceAccount")}, {"ctr", account} - {"theirs"})
        found = objects("--set", "job.checkpoint.uri=/checkpoints", "--set", "checkpoint.claim.enabled=true", "--set", "serve.enabled=true",
                        "--set-json", 'data.volume={"hostPath": {"path": "/d"}}', "--set", "tls.enabled=true", "--set", "tls.issuer.name=ours")
        pod, = (spec for name, spec, _ in pods(found) if name == "ctr-serve")
        mounts = {mount["name"]: mount for mount in pod["containers"][0]["volumeMounts"]}
        self.assertEqual(set(mounts), {"checkpoint"}, "neither data nor a certificate")
        self.assertIs(mounts["checkpoint"]["readOnly"], True)

    def test_it_reads_the_data_where_the_texts_of_a_vocabulary_may_be(self):
        feature = '{"city": {"column": 1, "kind": "vocabulary", "file": "/data/cities.txt"}}'
        found = objects(*SERVED, "--set-json", 'data.volume={"hostPath": {"path": "/d"}}', "--set-json", f"job.data.features={feature}")
        pod, = (spec for name, spec, _ in pods(found) if name == "ctr-serve")
        self.assertIn({"name": "data", "mountPath": "/data", "readOnly": True}, pod["containers"][0]["volumeMounts"])

    def test_behind_network_policies_the_namespace_asks_it_and_it_reaches_the_object_store_alone(self):
        policy, = of_kind(objects(*SERVED, "--set", "networkPolicy.enabled=true"), "NetworkPolicy", "serve")
        self.assertEqual([rule["ports"][0]["port"] for rule in policy["spec"]["ingress"]], [8080, 9090, 7001])
        self.assertEqual(policy["spec"]["ingress"][0]["from"], [{"podSelector": {}}])
        self.assertEqual([[port["port"] for port in rule["ports"]] for rule in policy["spec"]["egress"]], [[53, 53], [80], [443]])
        policy, = of_kind(rendered("serve"), "NetworkPolicy", "serve")
        self.assertNotIn({"podSelector": {}}, policy["spec"]["ingress"][0]["from"])
        policy, = of_kind(objects(*SERVED, "--set", "networkPolicy.enabled=true", "--set-json", "networkPolicy.serveFrom=[]"), "NetworkPolicy",
                          "serve")
        self.assertEqual([rule["ports"][0]["port"] for rule in policy["spec"]["ingress"]], [9090, 7001], "nobody, and not everybody")

    def test_behind_network_policies_it_reaches_a_vocabulary_in_s3_though_checkpoints_are_on_a_volume(self):
        feature = '{"city": {"column": 1, "kind": "vocabulary", "file": "%s/cities.txt"}}'
        for place, ports in (("s3://texts", [443]), ("/data", [])):
            policy, = of_kind(objects(
                "--set", "job.checkpoint.uri=/checkpoints", "--set", "checkpoint.claim.enabled=true", "--set", "serve.enabled=true", "--set",
                "networkPolicy.enabled=true", "--set-json", f"job.data.features={feature % place}"), "NetworkPolicy", "serve")
            self.assertEqual([rule["ports"][0]["port"] for rule in policy["spec"]["egress"] if not rule.get("to")], ports)

    def test_only_one_pod_at_a_time_is_disrupted_unless_there_is_only_one(self):
        for replicas, budgets in (("1", 0), ("2", 1), ("null", 1)):
            found = of_kind(objects(*SERVED, "--set", f"serve.replicas={replicas}"), "PodDisruptionBudget", "serve")
            self.assertEqual(len(found), budgets, replicas)

    def test_a_release_of_before_goes_on_with_the_values_that_it_has(self):
        """helm upgrade --reuse-values knows none of the later ones."""
        before = ("--set", "serve=null", "--set", "serviceAccount.serve=null", "--set", "s3.serveSecret=null", "--set", "networkPolicy.serveFrom=null",
                  "--set", "networkPolicy.enabled=true", "--set", "monitoring.podMonitor.enabled=true")
        self.assertEqual(objects(*STORED, *before), objects(*STORED, *before[8:]))

    def test_its_metrics_are_scraped(self):
        monitor, = of_kind(rendered("serve"), "PodMonitor")
        self.assertEqual([one["port"] for one in monitor["spec"]["podMetricsEndpoints"]], ["metrics"])
        self.assertIn("serve", monitor["spec"]["selector"]["matchExpressions"][0]["values"])
        meta, = (meta for name, _, meta in pods(objects(*SERVED, "--set", "monitoring.annotations=true")) if name == "ctr-serve")
        self.assertEqual(meta["annotations"]["prometheus.io/port"], "9090")

    def test_its_pods_are_placed_and_named_as_is_wished(self):
        wishes = {"priorityClassName": "low", "nodeSelector": {"pool": "cpu"}, "tolerations": [{"key": "spot", "operator": "Exists"}],
                  "affinity": {"nodeAffinity": {}}}
        deployment, pod, _ = serving("--set-json", f"serve={json.dumps({**wishes, 'podLabels': {'a': 'b'}, 'labels': {'c': 'd'}})}",
                                     "--set", "serve.enabled=true")
        self.assertEqual({key: pod[key] for key in wishes}, wishes)
        self.assertEqual(deployment["spec"]["template"]["metadata"]["labels"]["a"], "b")
        self.assertEqual(deployment["metadata"]["labels"]["c"], "d")
        spread, = pod["topologySpreadConstraints"]
        self.assertEqual(spread["labelSelector"]["matchLabels"]["app.kubernetes.io/component"], "serve")


if __name__ == "__main__":
    require_helm()
    unittest.main(verbosity=2)
