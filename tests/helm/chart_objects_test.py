"""What the objects of the chart are: names, pods, images, jobs."""

import json
import pathlib
import re
import subprocess
import sys
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))
from chart import CHART, ROOT, containers, objects, of_kind, pods, rendered, require_helm, template

import yaml


class ChartObjectsTest(unittest.TestCase):

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

    def test_two_releases_share_no_name_and_a_long_one_is_cut(self):
        names = [{(one["kind"], one["metadata"]["name"]) for one in objects(release=release)}
                 for release in ("ctr", "ctr2", "a" * 53, "a" * 52 + "b")]
        for index, these in enumerate(names):
            for others in names[index + 1:]:
                self.assertEqual(these & others, set())
            self.assertLessEqual(max(len(name) for _, name in these), 63)

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

    def test_a_pod_that_uses_the_place_for_models_has_the_environment_that_shards_have(self):
        env, sources = [{"name": "HTTPS_PROXY", "value": "http://proxy:3128"}], [{"secretRef": {"name": "keys"}}]
        found = objects("--set-json", f"ps.extraEnv={json.dumps(env)}", "--set-json", f"ps.extraEnvFrom={json.dumps(sources)}")
        one, = (spec["initContainers"][0] for name, spec, _ in pods(found) if name == "ctr-test")
        self.assertIn(env[0], one["env"])
        self.assertEqual(one["envFrom"], sources)

    def test_every_role_takes_sources_of_further_environment_variables(self):
        sources = json.dumps([{"configMapRef": {"name": "common"}}])
        for role in ("chief", "ps", "worker", "serve"):
            found = objects("--set", "serve.enabled=true", "--set", "job.checkpoint.uri=s3://models", "--set-json", f"{role}.extraEnvFrom={sources}")
            one, = (spec["containers"][0] for name, spec, _ in pods(found) if name == f"ctr-{role}")
            self.assertEqual(one["envFrom"], json.loads(sources))

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

    def test_a_name_that_yaml_takes_for_something_else_stays_a_text(self):
        for release in ("true", "null"):
            for one in objects(release=release):
                labels = one["metadata"]["labels"]
                self.assertEqual(labels["app.kubernetes.io/instance"], release)
                self.assertTrue(one["metadata"]["name"].startswith(release))
            for _, spec, meta in pods(objects(release=release)):
                self.assertEqual((spec["serviceAccountName"], meta["labels"]["app.kubernetes.io/instance"]), (release, release))

    def test_a_label_that_the_chart_writes_too_is_written_once_and_selectors_keep_theirs(self):
        ours = {"app.kubernetes.io/name": "mine", "app.kubernetes.io/part-of": "ads", "capstan/wait": "mine", "team": "ads"}
        roles = ("chief", "ps", "worker", "serve", "wait")
        words = ["--set", "serve.enabled=true", "--set", "job.checkpoint.uri=s3://models", "--set-json", f"commonLabels={json.dumps(ours)}"]
        for role in roles:
            words += ["--set-json", f'{role}.podLabels={{"app.kubernetes.io/component": "mine", "team": "{role}"}}']
        for document in template(*words).split("\n---\n"):
            for block in re.findall(r"(?m)^( *)labels:\n((?:\1  .*\n)+)", document):
                keys = re.findall(r"(?m)^ *([^ :]+):", block[1])
                self.assertEqual(len(keys), len(set(keys)), block[1])
        found = objects(*words)
        for one in found:
            labels = one["metadata"]["labels"]
            self.assertEqual((labels["app.kubernetes.io/name"], labels["app.kubernetes.io/part-of"], labels["team"]), ("capstan", "ads", "ads"))
        for name, _, meta in pods(found):
            role = meta["labels"]["app.kubernetes.io/component"]
            self.assertIn(role, name)
            self.assertEqual((meta["labels"]["app.kubernetes.io/name"], meta["labels"]["team"]), ("capstan", role if role in roles else "ads"))
        wait, = of_kind(found, "Job")
        self.assertEqual(wait["metadata"]["labels"]["capstan/wait"], "ctr")

    def notes(self, *values):
        """What helm says after an installation with these values."""
        holder = json.dumps('{kind: Text, metadata: {name: notes}, text: {{ include "capstan.notes" . | toJson }}}')
        words = (word for value in values for word in ("--set", value))
        return of_kind(objects(*words, "--set-json", f"extraObjects=[{holder}]"), "Text")[0]["text"]

    def test_the_notes_warn_where_only_the_finished_model_is_saved(self):
        for every, warned in ((None, False), ("5m", False), ("10s", False), ("0", True), ("0s", True)):
            values = ["job.checkpoint.uri=s3://models", *([f"job.checkpoint.every={every}"] if every else [])]
            self.assertEqual("only the finished model is saved" in self.notes(*values), warned, every)

    def test_the_notes_say_that_a_lone_shard_has_nobody_to_hold_its_backups(self):
        for copies, shards, said in ((1, 1, True), (1, 2, False), (0, 1, False)):
            notes = self.notes(f"job.replicas={copies}", f"ps.replicas={shards}")
            self.assertEqual("there is no second shard to hold a backup" in notes, said, (copies, shards))

    def test_the_commands_of_the_notes_are_shell(self):
        notes = self.notes()
        commands = re.findall(r"(?m)^  (kubectl .*)$", notes)
        self.assertGreaterEqual(len(commands), 4)
        for command in commands:
            self.assertEqual(subprocess.run(["bash", "-n", "-c", command]).returncode, 0, command)
        self.assertIn("WARNING: job.checkpoint.uri is not set", notes)


if __name__ == "__main__":
    require_helm()
    unittest.main(verbosity=2)
