"""What the chart renders: golden files for each set of values in ci/, and what must hold in all of them.

    chart_test.py             runs the tests
    chart_test.py --golden    writes the golden files anew
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))
from chart import CHART, JOB, ROOT, SETS, containers, helm, objects, of_kind, pods, require_helm, template, values_of

import yaml

CAPSTAN = os.environ.get("CAPSTAN_BIN") and pathlib.Path(os.environ["CAPSTAN_BIN"]) / "capstan"
GOLDEN = ROOT / "tests" / "helm" / "golden"
NAMES = {"app.kubernetes.io/name", "app.kubernetes.io/instance"}
RECOMMENDED = NAMES | {"app.kubernetes.io/version", "app.kubernetes.io/managed-by", "app.kubernetes.io/part-of",
                       "helm.sh/chart"}


def rendered(name):
    return objects("--values", values_of(name))


def job_of(found):
    """What the chief of these objects reads."""
    config, = (one for one in found if one["kind"] == "ConfigMap" and "job.yaml" in one["data"])
    return yaml.safe_load(config["data"]["job.yaml"])


def commented_blocks(text):
    """The keys of the job that stand in comments, each run of lines by itself: {key: value}."""
    lines = [line.removeprefix("  # ") if line.startswith("  # ") else None for line in text.splitlines()]
    blocks, begun = [], []
    for line in [*lines, None]:
        starts = line is not None and re.match(r"[a-z_]+:( |$)", line)
        goes_on = line is not None and begun and line.startswith(" ")
        if begun and not goes_on:
            blocks.append(yaml.safe_load("\n".join(begun)))
            begun = []
        if starts or goes_on:
            begun.append(line)
    return blocks


def mistakes_of(job):
    """What `capstan config check` says of the job's keys, a line each; [] where it is not built. That data are not there
    is no mistake."""
    if not CAPSTAN:
        return []
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
        file.write(yaml.safe_dump(job).replace("s3://", "/a-bucket/"))
        file.flush()
        done = subprocess.run([CAPSTAN, "config", "check", file.name], capture_output=True, text=True)
    return [line for line in (done.stdout + done.stderr).splitlines()
            if file.name in line and "no file matches" not in line]


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
                ports = {port["name"]: port["containerPort"] for port in main["ports"]}
                for probe in ("startup", "liveness", "readiness"):
                    self.assertEqual(main[f"{probe}Probe"]["grpc"], {"port": ports["health"], "service": probe})
                self.assertNotEqual(ports["health"], ports.get("grpc"))

    def test_every_pod_has_the_certificate_of_its_role_and_no_other(self):
        for name in ("tls", "mtls"):
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

    def test_the_job_reaches_the_chief_alone(self):
        for name in self.each():
            mounted = {pod for pod, spec, _ in pods(rendered(name)) for volume in spec.get("volumes", [])
                       if volume.get("configMap", {}).get("name", "").endswith("-job")}
            self.assertEqual(len(mounted), 1, mounted)
            self.assertTrue(mounted.pop().endswith("-chief"))


class ChartTest(unittest.TestCase):

    def refused(self, reason, *arguments):
        with self.assertRaises(ValueError) as refusal:
            template(*arguments)
        self.assertIn(reason, str(refusal.exception))

    def test_the_readme_and_the_dashboards_are_fresh_and_every_value_is_documented(self):
        for generator in (CHART / "generate_readme", ROOT / "dashboards" / "generate"):
            done = subprocess.run([sys.executable, "-B", generator, "--check"], capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def test_the_version_is_that_of_the_project(self):
        chart = yaml.safe_load((CHART / "Chart.yaml").read_text())
        project = re.search(r"project\(capstan VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text())[1]
        self.assertEqual([chart["version"], chart["appVersion"]], [project, project])

    def test_nothing_is_random_or_looked_up(self):
        for path in (CHART / "templates").rglob("*.*"):
            self.assertNotRegex(path.read_text(), r"randAlpha|\(lookup |\bnow\b *[|}]|genCA", path.name)

    def test_a_changed_job_restarts_no_pod_and_makes_another_wait_job(self):
        changed = [objects(), objects("--set", "job.train.epochs=7")]
        for kind in ("StatefulSet", "Deployment"):
            self.assertEqual(*(of_kind(found, kind) for found in changed))
        self.assertNotEqual(*(of_kind(found, "Job")[0]["metadata"]["name"] for found in changed))

    def test_the_schema_refuses_unknown_keys_of_ours_and_lets_those_of_kubernetes_pass(self):
        self.refused("replcias", "--set", "worker.replcias=3")
        self.refused("resoures", "--set", "ps.resoures.limits.memory=1Gi")
        self.refused("tag", "--set", "image.tag=latest")
        self.refused("secretKey", "--set", "s3.secretKey=SENTINEL")
        template("--set", "podSecurityContext.seccompProfile.type=RuntimeDefault",
                 "--set", "podSecurityContext.supplementalGroups={4000}")

    def test_null_leaves_the_replicas_out(self):
        worker, = of_kind(objects(), "Deployment")
        self.assertNotIn("replicas", worker["spec"])
        worker, = of_kind(objects("--set", "worker.replicas=0"), "Deployment")
        self.assertEqual(worker["spec"]["replicas"], 0)
        shards, = of_kind(objects("--set", "ps.replicas=null"), "StatefulSet", "ps")
        self.assertNotIn("replicas", shards["spec"])
        for name in ("hpa", "keda"):
            worker, = of_kind(rendered(name), "Deployment")
            self.assertNotIn("replicas", worker["spec"])

    def test_two_releases_share_no_name_and_a_long_one_is_cut(self):
        names = [{(one["kind"], one["metadata"]["name"]) for one in objects(release=release)}
                 for release in ("ctr", "ctr2", "a" * 53, "a" * 52 + "b")]
        for index, these in enumerate(names):
            for others in names[index + 1:]:
                self.assertEqual(these & others, set())
            self.assertLessEqual(max(len(name) for _, name in these), 63)

    def test_what_cannot_work_is_refused_with_a_reason(self):
        for reason, *values in (
                ("is on no volume", "job.checkpoint.uri=/models"),
                ("is on no volume", "job.checkpoint.uri=/checkpointsX", "checkpoint.claim.enabled=true"),
                ("is another one in every pod", "checkpoint.volume.emptyDir.medium=Memory"),
                ("exclude each other", "checkpoint.claim.enabled=true", "checkpoint.volume.hostPath.path=/x"),
                ("shards that stop need the chief", "chief.terminationGracePeriodSeconds=30"),
                ("job.update.dense.lanes", "job.update.dense.policy=sync"),
                ("is too little for job.table.byte_budget", "job.table.byte_budget=4GiB"),
                ("is not a size", "job.table.byte_budget=much"),
                ("less than ps.finalCheckpointSeconds", "ps.terminationGracePeriodSeconds=20"),
                ("less than ps.restoreSeconds", "ps.startupProbe.failureThreshold=10"),
                ("exclude each other", "worker.autoscaling.enabled=true", "worker.keda.enabled=true"),
                ("needs at least one", "worker.keda.enabled=true"),
                ("it is the Job of wait.enabled", "wait.autoScaleToZero=true", "wait.enabled=false"),
                ("autoscalers exclude each other", "wait.autoScaleToZero=true", "worker.autoscaling.enabled=true"),
                ("needs tls.issuer.name, or tls.secrets for each", "tls.enabled=true"),
                ("needs tls.issuer.name, or tls.secrets for each", "tls.enabled=true", "tls.secrets.ps=mine"),
                ("exclude each other", "tls.enabled=true", "tls.issuer.name=ca", "tls.secrets.ps=mine"),
                ("tls.csiDriver: needs tls.issuer.name", "tls.enabled=true", "tls.csiDriver=true"),
                ("has no data section", "job.data=null"),
                ("job: is not set", "job=null")):
            with self.subTest(values=values):
                self.refused(reason, *(word for value in values for word in ("--set", value)))
        template("--set", "job.table.byte_budget=2GiB")
        # Half of it for each of two shards, a quarter more, and 256 MiB.
        enough, budget = "ps.resources.limits.memory=1536Mi", ["--set", "job.table.byte_budget=2GiB"]
        template(*budget, "--set", "ps.replicas=2", "--set", enough)
        self.refused("a shard needs 1536 MiB", *budget, "--set", "ps.replicas=2", "--set", enough.replace("1536", "1535"))
        template("--set", "job.checkpoint.uri=file:///checkpoints/x", "--set", "checkpoint.claim.enabled=true")

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

    def test_a_number_keeps_its_value_on_the_way_into_job_yaml(self):
        config, = (one for one in objects("--set", "job.data.synthetic.train_rows=3000000")
                   if one["metadata"]["name"] == "ctr-job")
        value = yaml.safe_load(config["data"]["job.yaml"])["data"]["synthetic"]["train_rows"]
        self.assertEqual(float(value), 3000000)  # Written 3e+06, which capstan/config reads.

    def test_a_text_job_is_kept_as_it_is(self):
        config, = (one for one in rendered("job-text") if one["metadata"]["name"] == "ctr-job")
        self.assertTrue(config["data"]["job.yaml"].startswith("# Kept as it is, comments included.\n"))

    def test_example_job_files_render(self):
        for path in sorted((ROOT / "deploy" / "examples").glob("*.yaml")):
            if "checkpoint:" not in path.read_text():
                with self.subTest(example=path.name):
                    config, = (one for one in objects("--set-file", f"job={path}")
                               if one["metadata"]["name"] == "ctr-job")
                    self.assertEqual(yaml.safe_load(config["data"]["job.yaml"]), yaml.safe_load(path.read_text()))

    def test_example_values_render_with_each_of_their_commented_blocks_and_with_all(self):
        for path in sorted((ROOT / "deploy" / "examples").glob("*/values.yaml")):
            values = yaml.safe_load(path.read_text())
            blocks = commented_blocks(path.read_text())
            self.assertTrue(blocks, path)
            for chosen in ([], *([block] for block in blocks), blocks):
                job = dict(values["job"])
                for block in chosen:
                    self.assertLessEqual(set(block), set(job), "a block stands in place of something")
                    job.update(block)
                with self.subTest(example=path.parent.name, blocks=chosen), \
                        tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
                    yaml.safe_dump({**values, "job": job}, file)
                    file.flush()
                    self.assertEqual(job_of(objects("--values", file.name)), {"job": "ctr", **job})
                    self.assertEqual(mistakes_of({"job": "ctr", **job}), [])

    def test_a_users_job_stands_whole_and_null_takes_a_key_out_of_it(self):
        job = {"data": {"format": "libsvm", "train": "s3://b/a"}, "model": {"towers": [{"kind": "linear"}]},
               "optimizer": {"sparse": {"kind": "ftrl"}}}
        overlay = {"data": {"train": "s3://b/c", "format": None}, "optimizer": None}
        with tempfile.TemporaryDirectory() as folder:
            files = [pathlib.Path(folder) / name for name in ("base.yaml", "overlay.yaml")]
            for file, values in zip(files, (job, overlay)):
                file.write_text(yaml.safe_dump({"job": values}))
            self.assertEqual(job_of(objects("--values", files[0])), {"job": "ctr", **job})
            both = job_of(objects("--values", files[0], "--values", files[1]))
        self.assertEqual(both, {"job": "ctr", "data": {"train": "s3://b/c"}, "model": job["model"]})

    def test_the_demo_is_asked_for_and_is_no_part_of_another_job(self):
        self.refused("job: is not set", "--values", "/dev/null")
        self.refused("demo and job exclude each other", "--set", "demo=true")
        demo = job_of(objects("--values", values_of("default")))
        self.assertEqual(demo["model"]["preset"], "deepfm")
        self.assertEqual(mistakes_of(demo), [])

    def test_every_pod_ends_with_what_its_log_ends_with(self):
        for name, spec, _ in pods(objects()):
            for one in containers(spec):
                self.assertEqual(one["terminationMessagePolicy"], "FallbackToLogsOnError", name)

    def test_a_pod_that_cannot_start_is_replaced_by_an_upgrade_in_every_role(self):
        for one in of_kind(objects(), "StatefulSet"):  # A Deployment replaces its pods in any state.
            self.assertEqual(one["spec"]["podManagementPolicy"], "Parallel", one["metadata"]["name"])

    def test_a_chief_that_refuses_its_job_stays_and_the_wait_job_lets_it_be_corrected(self):
        chief, = of_kind(objects(), "StatefulSet", "chief")
        self.assertIn("--on-refusal=serve", chief["spec"]["template"]["spec"]["containers"][0]["args"])
        job, = of_kind(objects("--set", "wait.refusalPatienceSeconds=7", "--set", "wait.ttlSecondsAfterFinished=60"), "Job")
        self.assertIn("--refusal-patience=7", job["spec"]["template"]["spec"]["containers"][0]["args"])
        self.assertEqual(job["spec"]["ttlSecondsAfterFinished"], 60)

    def test_pods_that_wait_and_test_are_placed_and_named_as_the_others(self):
        wishes = {"priorityClassName": "low", "nodeSelector": {"pool": "cpu"},
                  "tolerations": [{"key": "spot", "operator": "Exists"}],
                  "affinity": {"nodeAffinity": {}}}
        for role in ("chief", "ps", "worker", "wait", "tests"):
            more = {**wishes, "podLabels": {"example.com/cost": "ads"}, "podAnnotations": {"example.com/a": "b"}}
            found = [(spec, meta) for name, spec, meta in pods(objects("--set-json", f"{role}={json.dumps(more)}"))
                     if name.removeprefix("ctr-").split("-")[0] == role.removesuffix("s" if role == "tests" else "")]
            self.assertEqual(len(found), 1, role)
            for spec, meta in found:
                self.assertEqual({key: spec[key] for key in wishes}, wishes, role)
                self.assertEqual(meta["labels"]["example.com/cost"], "ads", role)
                self.assertEqual(meta["annotations"]["example.com/a"], "b", role)

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
                got = self.remote_ports(*values, f"s3.endpoint={endpoint}")
                self.assertEqual({role: ports for role, ports in got.items() if ports}, {role: {port} for role in roles},
                                 (values, endpoint))
        self.assertEqual(self.remote_ports("wait.autoScaleToZero=true", job_file=values_of("default"))["wait"], {443, 6443})

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

    def test_the_shards_have_stable_names_before_they_are_ready(self):
        service, = of_kind(objects(), "Service", "ps")
        self.assertEqual(service["spec"]["clusterIP"], "None")
        self.assertIs(service["spec"]["publishNotReadyAddresses"], True)
        self.assertEqual([port["name"] for port in service["spec"]["ports"]], ["grpc", "health", "metrics"])
        shards, = of_kind(objects("--set", "clusterDomain=example.internal"), "StatefulSet", "ps")
        self.assertEqual(shards["spec"]["podManagementPolicy"], "Parallel")
        self.assertEqual(shards["spec"]["serviceName"], service["metadata"]["name"])
        self.assertIn("--advertise=$(POD_NAME).ctr-ps.training.svc.example.internal:7000",
                      shards["spec"]["template"]["spec"]["containers"][0]["args"])

    def test_shards_are_told_their_zone_by_a_label(self):
        def zone(*more):
            shards, = of_kind(objects(*more), "StatefulSet", "ps")
            env = shards["spec"]["template"]["spec"]["containers"][0]["env"]
            return [one["valueFrom"]["fieldRef"]["fieldPath"] for one in env if one["name"] == "CAPSTAN_ZONE"]
        self.assertEqual(zone(), ["metadata.labels['topology.kubernetes.io/zone']"])
        self.assertEqual(zone("--set", "ps.zoneLabel=rack"), ["metadata.labels['rack']"])
        self.assertEqual(zone("--set", "ps.zoneLabel="), [])

    def test_one_shard_has_no_disruption_budget(self):
        self.assertEqual(len(of_kind(objects(), "PodDisruptionBudget")), 1)
        self.assertEqual(of_kind(objects("--set", "ps.replicas=1"), "PodDisruptionBudget"), [])

    def test_the_wait_job_is_named_after_its_content(self):
        names = {of_kind(objects(*more), "Job")[0]["metadata"]["name"]
                 for more in ((), ("--set", "image.tag=x"), ("--set", "job.seed=2"), ("--set", "ps.replicas=4"))}
        self.assertEqual(len(names), 3)  # More shards are no other job.

    def test_images_follow_the_registry_and_the_digest(self):
        images = [one["image"] for _, spec, _ in pods(rendered("airgap")) for one in containers(spec)]
        self.assertEqual({image.split("/capstan/")[0] for image in images}, {"registry.example.com:5000/mirror"})
        self.assertTrue(all("@sha256:" in image for image in images))

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
            return {peer["podSelector"]["matchLabels"].get("app.kubernetes.io/component", "client") for rule in rules
                    if {"port": port, "protocol": "TCP"} in rule["ports"]
                    for peer in rule.get("from", rule.get("to", [])) if "podSelector" in peer}

        self.assertEqual(peers(policies["ps"]["ingress"], 7000), {"chief", "worker", "ps"})
        self.assertEqual(peers(policies["ps"]["egress"], 7000), {"chief", "ps"})
        self.assertEqual(peers(policies["chief"]["ingress"], 7000), {"ps", "worker", "wait", "test", "client"})
        self.assertEqual(peers(policies["worker"]["egress"], 7000), {"chief", "ps"})
        self.assertEqual(peers(policies["worker"]["ingress"], 7000), set())

    def test_each_pod_is_scraped_once_under_the_promised_labels(self):
        monitor, = of_kind(rendered("monitoring"), "PodMonitor")
        endpoint, = monitor["spec"]["podMetricsEndpoints"]
        self.assertEqual({rule.get("targetLabel") for rule in endpoint["relabelings"]},
                         {"job_name", "role", "shard", None})
        self.assertEqual(of_kind(rendered("monitoring"), "ServiceMonitor"), [])

    def test_the_scrape_configuration_without_the_operator_is_the_pod_monitors(self):
        monitor, = of_kind(rendered("monitoring"), "PodMonitor")
        endpoint, = monitor["spec"]["podMetricsEndpoints"]
        config, = yaml.safe_load((CHART / "files" / "scrape.yaml").read_text())["scrape_configs"]
        label = "__meta_kubernetes_pod_label_app_kubernetes_io_"
        ours = [{re.sub("[A-Z]", lambda upper: "_" + upper.group().lower(), key): value for key, value in one.items()}
                for one in endpoint["relabelings"]]
        self.assertEqual(config["relabel_configs"][-len(ours):], ours)
        one_of, = monitor["spec"]["selector"]["matchExpressions"]
        keeps = {one["source_labels"][0]: one["regex"] for one in config["relabel_configs"] if one.get("action") == "keep"}
        self.assertEqual(keeps, {f"{label}name": "capstan", f"{label}component": "|".join(one_of["values"]),
                                 "__meta_kubernetes_pod_container_port_name": endpoint["port"]})

    def test_rules_are_those_of_the_release_and_their_runbooks_exist(self):
        rule, = of_kind(rendered("monitoring"), "PrometheusRule")
        text = json.dumps(rule["spec"])
        self.assertNotIn('namespace=\\"ns\\"', text)
        anchors = {line[3:].strip().lower() for line in (ROOT / "docs" / "runbooks.md").read_text().splitlines()
                   if line.startswith("## ")}
        alerts = [one for group in rule["spec"]["groups"] for one in group["rules"] if "alert" in one]
        self.assertEqual({one["alert"].lower() for one in alerts}, anchors)
        for one in alerts:
            self.assertEqual(set(one["annotations"]), {"summary", "description", "runbook_url"}, one["alert"])
            self.assertTrue(one["annotations"]["runbook_url"].startswith("https://"))
            self.assertIn(one["annotations"]["runbook_url"].split("#")[1], anchors)
            self.assertIn(one["labels"]["severity"], ("info", "warning", "critical"))
            self.assertRegex(one["expr"], 'job_name="ctr"|"job_name", "ctr"')

    def test_rules_name_the_workloads_of_a_release_with_a_long_name_or_another(self):
        for arguments, release in ((["--set", "fullnameOverride=other"], "ctr"), ([], "r" * 50)):
            got = objects("--set", "monitoring.rules.enabled=true", *arguments, release=release)
            worker, = [one["metadata"]["name"] for one in of_kind(got, "Deployment")]
            chief = next(one["metadata"]["name"] for one in of_kind(got, "StatefulSet")
                         if one["metadata"]["name"].endswith("-chief"))
            text = json.dumps(of_kind(got, "PrometheusRule")[0]["spec"])
            self.assertEqual(set(re.findall(r'deployment=\\\\?"([^"\\]*)', text)), {worker})
            self.assertIn(chief.removesuffix("chief") + "(chief|ps|worker)-", text)
            self.assertEqual(set(re.findall(r'job_name=\\\\?"([^"\\]*)', text)), {release})

    def test_dashboards_are_packed_as_they_are(self):
        maps = {key: text for one in of_kind(rendered("monitoring"), "ConfigMap")
                for key, text in one["data"].items() if key.endswith(".json")}
        files = {path.name: path.read_text() for path in (ROOT / "dashboards").glob("*.json")}
        self.assertEqual({name: json.loads(text) for name, text in maps.items()},
                         {name: json.loads(text) for name, text in files.items()})
        self.assertEqual(set(files), {"training.json", "staleness.json", "shards.json", "durability.json"})

    def test_the_commands_of_the_notes_are_shell(self):
        holder = json.dumps('{kind: Text, metadata: {name: notes}, text: {{ include "capstan.notes" . | toJson }}}')
        notes = of_kind(objects("--set-json", f"extraObjects=[{holder}]"), "Text")[0]["text"]
        commands = re.findall(r"(?m)^  (kubectl .*)$", notes)
        self.assertGreaterEqual(len(commands), 4)
        for command in commands:
            self.assertEqual(subprocess.run(["bash", "-n", "-c", command]).returncode, 0, command)
        self.assertIn("WARNING: job.checkpoint.uri is not set", notes)


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
