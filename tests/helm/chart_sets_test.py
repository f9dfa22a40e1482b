"""What the chart renders: golden files for each set of values in ci/, and what must hold in all of them.

    chart_sets_test.py             runs the tests
    chart_sets_test.py --golden    writes the golden files anew
"""

import pathlib
import re
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))
from chart import CHART, ROOT, SETS, containers, helm, objects, pods, rendered, require_helm, template, values_of

GOLDEN = ROOT / "tests" / "helm" / "golden"
NAMES = {"app.kubernetes.io/name", "app.kubernetes.io/instance"}
RECOMMENDED = NAMES | {"app.kubernetes.io/version", "app.kubernetes.io/managed-by", "app.kubernetes.io/part-of",
                       "helm.sh/chart"}


def golden_text(name):
    """Dashboards and rules are files of their own; the golden render leaves their content out."""
    text = template("--values", values_of(name))
    text = re.sub(r"(?m)^(  \S+\.json: \|\n)(?:    .*\n|\n)+", r"\1    (the dashboard)\n", text)
    text = re.sub(r"(?m)^(  capstan\.rules\.yaml: \|\n)(?:    .*\n|\n)+", r"\1    (the rules)\n", text)
    return re.sub(r"(?m)^(kind: PrometheusRule\n(?:.+\n)*?spec:\n)(?:  .*\n|\n)+", r"\1  (the rules)\n", text)


class EverySetTest(unittest.TestCase):
    maxDiff = None

    def each(self):
        for name in SETS:
            with self.subTest(values=name):
                yield name

    def test_there_are_ten_sets_or_more(self):
        self.assertGreaterEqual(len(SETS), 10)

    def test_lint_is_content(self):
        for name in self.each():
            done = helm("lint", "--strict", CHART, "--values", values_of(name))
            self.assertEqual(done.returncode, 0, done.stdout)

    def test_the_render_is_the_golden_one(self):
        for name in self.each():
            self.assertMultiLineEqual((GOLDEN / f"{name}.yaml").read_text(), golden_text(name))

    def test_the_render_is_the_same_every_time(self):
        for name in self.each():
            again = helm("template", "ctr", CHART, "--namespace", "training", "--values", values_of(name)).stdout
            self.assertEqual(template("--values", values_of(name)), again)

    def test_all_names_are_short_and_objects_name_their_namespace(self):
        for name in self.each():
            for one in rendered(name):
                if one["metadata"]["name"].endswith(("-extra", "-more")):
                    continue  # The user's own.
                self.assertLessEqual(len(one["metadata"]["name"]), 63)
                self.assertEqual(one["metadata"]["namespace"], "training", one["metadata"]["name"])
                self.assertLessEqual(RECOMMENDED, set(one["metadata"]["labels"]))

    def test_selectors_hold_only_what_never_changes(self):
        for name in self.each():
            for one in rendered(name):
                if one["kind"] in ("Deployment", "StatefulSet"):
                    labels = set(one["spec"]["selector"]["matchLabels"])
                    self.assertEqual(labels, NAMES | {"app.kubernetes.io/component"})
                    self.assertLessEqual(labels, set(one["spec"]["template"]["metadata"]["labels"]))

    def test_every_pod_is_restricted(self):
        for name in self.each():
            for pod, spec, _ in pods(rendered(name)):
                context = spec["securityContext"]
                self.assertTrue(context["runAsNonRoot"], pod)
                self.assertGreaterEqual(context["runAsUser"], 10000)
                self.assertEqual(context["seccompProfile"], {"type": "RuntimeDefault"})
                self.assertIs(spec["automountServiceAccountToken"], name == "scale-to-zero" and "-wait-" in pod)
                self.assertFalse(any(key in spec for key in ("hostNetwork", "hostPID", "hostIPC")))
                for one in containers(spec):
                    if one["image"].startswith("example.com/"):
                        continue  # The user's own.
                    self.assertEqual(one["securityContext"], {
                        "allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True,
                        "capabilities": {"drop": ["ALL"]}}, pod)
                    self.assertIn("memory", one["resources"]["requests"], pod)

    def test_no_right_is_asked_for(self):
        for name in self.each():
            kinds = {one["kind"] for one in rendered(name)}
            self.assertFalse(kinds & {"ClusterRole", "ClusterRoleBinding", "CustomResourceDefinition"})
            if name != "scale-to-zero":
                self.assertFalse(kinds & {"Role", "RoleBinding"})

    def test_probes_are_grpc_on_the_health_port_and_need_no_shell(self):
        for name in self.each():
            text = template("--values", values_of(name))
            self.assertNotRegex(text, r"\bexec:|/bin/sh|v1beta1|v2beta2|:latest")
            for one in rendered(name):
                if one["kind"] not in ("Deployment", "StatefulSet"):
                    continue
                main = one["spec"]["template"]["spec"]["containers"][0]
                if main["name"] == "serve":
                    continue  # It speaks HTTP alone: chart_serve_test.py.
                ports = {port["name"]: port["containerPort"] for port in main["ports"]}
                for probe in ("startup", "liveness", "readiness"):
                    self.assertEqual(main[f"{probe}Probe"]["grpc"], {"port": ports["health"], "service": probe})
                self.assertNotEqual(ports["health"], ports.get("grpc"))

    def test_every_pod_has_the_certificate_of_its_role_and_no_other(self):
        for name in ("tls", "mtls", "readers"):
            for pod, spec, _ in pods(rendered(name)):
                secrets = [volume["secret"] for volume in spec.get("volumes", []) if "secret" in volume]
                role = next((role for role in ("chief", "ps", "worker") if pod.endswith(f"-{role}")), "admin")
                self.assertEqual([one["secretName"] for one in secrets], [f"ctr-{role}-tls"], pod)
                self.assertEqual(secrets[0]["defaultMode"], 0o440)
                one = spec["containers"][0]
                self.assertIn({"name": "CAPSTAN_TLS", "value": "/etc/capstan-tls"}, one["env"])
                self.assertIn("/etc/capstan-tls", [mount["mountPath"] for mount in one["volumeMounts"]])

    def test_certificates_name_the_role_in_the_job(self):
        certificates = {one["spec"]["secretName"]: one["spec"] for one in rendered("tls") if one["kind"] == "Certificate"}
        self.assertEqual({secret: one["dnsNames"] for secret, one in certificates.items()}, {
            "ctr-chief-tls": ["chief.ctr.capstan", "admin.ctr.capstan"], "ctr-ps-tls": ["ps.ctr.capstan"],
            "ctr-worker-tls": ["worker.ctr.capstan"], "ctr-admin-tls": ["admin.ctr.capstan"]})
        for one in certificates.values():
            self.assertEqual(one["usages"], ["server auth", "client auth"])
            self.assertEqual(one["privateKey"]["rotationPolicy"], "Always")
        self.assertFalse([one for one in rendered("mtls") if one["kind"] == "Certificate"])

    def test_readers_get_a_certificate_that_names_their_role_alone_and_only_where_it_is_asked_for(self):
        def certificates(name):
            return {one["metadata"]["name"]: one["spec"] for one in rendered(name) if one["kind"] == "Certificate"}

        client = certificates("readers")["ctr-client-tls"]
        self.assertEqual((client["secretName"], client["dnsNames"]), ("ctr-client-tls", ["client.ctr.capstan"]))
        others = certificates("tls")
        self.assertEqual({**others, "ctr-client-tls": client}, certificates("readers"))
        self.assertNotIn("ctr-client-tls", others)
        self.assertEqual({key: value for key, value in client.items() if key not in ("secretName", "dnsNames")},
                         {key: value for key, value in others["ctr-admin-tls"].items() if key not in ("secretName", "dnsNames")})

    def test_programs_that_push_get_a_certificate_of_both_roles_only_where_it_is_asked_for(self):
        found = {one["metadata"]["name"]: one["spec"] for one in objects("--values", values_of("tls"), "--set", "tls.pusher=true") if one["kind"] == "Certificate"}
        self.assertEqual(found["ctr-pusher-tls"]["dnsNames"], ["pusher.ctr.capstan", "client.ctr.capstan"])
        self.assertNotIn("ctr-client-tls", found)

    def test_a_driver_gives_each_shard_a_certificate_that_carries_its_number(self):
        found = rendered("tls-csi")
        self.assertEqual([one["spec"]["secretName"] for one in found if one["kind"] == "Certificate"],
                         ["ctr-chief-tls", "ctr-worker-tls", "ctr-admin-tls"])
        for pod, spec, _ in pods(found):
            volume, = (one for one in spec["volumes"] if one["name"] == "tls")
            self.assertEqual("csi" in volume, pod == "ctr-ps", pod)
            self.assertIn({"name": "tls", "mountPath": "/etc/capstan-tls", "readOnly": True},
                          spec["containers"][0]["volumeMounts"])
            if pod == "ctr-ps":
                asked = {key.removeprefix("csi.cert-manager.io/"): value
                         for key, value in volume["csi"]["volumeAttributes"].items()}
                self.assertEqual(asked, {
                    "issuer-name": "capstan-authority", "issuer-kind": "Issuer", "issuer-group": "cert-manager.io",
                    "dns-names": "ps.ctr.capstan,${POD_NAME}.ps.ctr.capstan", "key-usages": "server auth,client auth",
                    "duration": "24h", "renew-before": "8h", "fs-group": "65532"})

    def test_the_chief_believes_shards_by_the_certificates_that_the_chart_gives_them(self):
        def rule(*arguments):
            (_, spec, _), = (one for one in pods(objects(*arguments)) if one[0] == "ctr-chief")
            return [word for word in spec["containers"][0]["args"] if word.startswith("--unnumbered-shards")]
        csi = ["--values", values_of("tls-csi")]
        self.assertEqual(rule("--values", values_of("tls")), ["--unnumbered-shards=accept"])  # They share one without a number.
        self.assertEqual(rule(*csi), [])
        self.assertEqual(rule(*csi, "--set", "tls.numberedShards=true"), ["--unnumbered-shards=refuse"])
        self.assertEqual(rule(), [])

    def test_the_job_reaches_the_chief_alone(self):
        for name in self.each():
            mounted = {pod for pod, spec, _ in pods(rendered(name)) for volume in spec.get("volumes", [])
                       if volume.get("configMap", {}).get("name", "").endswith("-job")}
            self.assertEqual(len(mounted), 1, mounted)
            self.assertTrue(mounted.pop().endswith("-chief"))


def main():
    require_helm()
    if sys.argv[1:] == ["--golden"]:
        GOLDEN.mkdir(exist_ok=True)
        for old in GOLDEN.glob("*.yaml"):
            old.unlink()
        for name in SETS:
            (GOLDEN / f"{name}.yaml").write_text(golden_text(name))
        return
    unittest.main(verbosity=2)


if __name__ == "__main__":
    main()
