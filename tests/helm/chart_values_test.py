"""What values and jobs the chart takes, and what it refuses."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))
from chart import JOB, ROOT, job_of, objects, of_kind, rendered, require_helm, template, values_of

import yaml

CAPSTAN = os.environ.get("CAPSTAN_BIN") and pathlib.Path(os.environ["CAPSTAN_BIN"]) / "capstan"


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


def nested(values):
    """{"a": {"b": 1}} of {"a.b": 1}"""
    whole = {}
    for key, value in values.items():
        *path, last = key.split(".")
        inner = whole
        for name in path:
            inner = inner.setdefault(name, {})
        inner[last] = value
    return whole


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


class ChartValuesTest(unittest.TestCase):

    def refused(self, reason, *arguments):
        with self.assertRaises(ValueError) as refusal:
            template(*arguments)
        self.assertIn(reason, str(refusal.exception))

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

    def test_what_cannot_work_is_refused_with_a_reason(self):
        for reason, *values in (
                ("is on no volume", "job.checkpoint.uri=/models"),
                ("29 is less than serve.lingerSeconds + 25", "serve.enabled=true", "job.checkpoint.uri=s3://models",
                 "serve.terminationGracePeriodSeconds=29"),
                ("is on no volume", "job.checkpoint.uri=/checkpointsX", "checkpoint.claim.enabled=true"),
                ("is another one in every pod", "checkpoint.volume.emptyDir.medium=Memory"),
                ("exclude each other", "checkpoint.claim.enabled=true", "checkpoint.volume.hostPath.path=/x"),
                ("shards that stop need the chief", "chief.terminationGracePeriodSeconds=30"),
                ("job.update.dense.lanes", "job.update.dense.policy=sync"),
                ("is too little for job.table.byte_budget", "job.table.byte_budget=4GiB"),
                ("s3.endpoint: http://store:9000 is without TLS", "s3.endpoint=http://store:9000"),
                ("is not a size", "job.table.byte_budget=much"),
                ("less than ps.finalCheckpointSeconds", "ps.terminationGracePeriodSeconds=20"),
                ("less than ps.restoreSeconds", "ps.startupProbe.failureThreshold=10"),
                ("exclude each other", "worker.autoscaling.enabled=true", "worker.keda.enabled=true"),
                ("worker.autoscaling: maxReplicas 1 is less than minReplicas 2", "worker.autoscaling.enabled=true",
                 "worker.autoscaling.minReplicas=2", "worker.autoscaling.maxReplicas=1"),
                ("ps.autoscaling: maxReplicas 1 is less than minReplicas 2", "ps.autoscaling.enabled=true", "ps.autoscaling.maxReplicas=1"),
                ("ps.autoscaling: needs a target", "ps.autoscaling.enabled=true", "ps.autoscaling.targetCPUUtilizationPercentage=null",
                 "ps.autoscaling.targetMemoryUtilizationPercentage=null"),
                ("needs at least one", "worker.keda.enabled=true"),
                ("it is the Job of wait.enabled", "wait.autoScaleToZero=true", "wait.enabled=false"),
                ("autoscalers exclude each other", "wait.autoScaleToZero=true", "worker.autoscaling.enabled=true"),
                ("needs tls.issuer.name, or tls.secrets for each", "tls.enabled=true"),
                ("needs tls.issuer.name, or tls.secrets for each", "tls.enabled=true", "tls.secrets.ps=mine"),
                ("exclude each other", "tls.enabled=true", "tls.issuer.name=ca", "tls.secrets.ps=mine"),
                ("tls.csiDriver: needs tls.issuer.name", "tls.enabled=true", "tls.csiDriver=true"),
                ("tls.numberedShards: needs tls.csiDriver", "tls.enabled=true", "tls.issuer.name=ca", "tls.numberedShards=true"),
                *((f"tls.{program}: needs tls.issuer.name", "tls.enabled=true", f"tls.{program}=true",
                   *(f"tls.secrets.{role}=mine" for role in ("chief", "ps", "worker", "admin"))) for program in ("client", "pusher")),
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

    def test_a_number_keeps_its_value_on_the_way_into_job_yaml(self):
        config, = (one for one in objects("--set", "job.data.synthetic.train_rows=3000000")
                   if one["metadata"]["name"] == "ctr-job")
        value = yaml.safe_load(config["data"]["job.yaml"])["data"]["synthetic"]["train_rows"]
        self.assertEqual(float(value), 3000000)  # Written 3e+06, which capstan/config reads.

    def written(self, **values):
        """These values as --set, a file, and JSON have them: the last are those of a release that is upgraded with --reuse-values, too."""
        file = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory())) / "values.yaml"
        file.write_text(yaml.safe_dump(nested(values)))
        def words(flag):
            return [word for key, value in values.items() for word in (flag, f"{key}={value}")]
        return words("--set"), ["--values", JOB, "--values", file], words("--set-json")

    def test_a_number_in_a_name_or_an_argument_is_the_same_text_wherever_it_comes_from(self):
        numbers = {"chief.freshStart": 20261129, "job.job": 20261130, "job.checkpoint.keep": 1000000,
                   "podSecurityContext.fsGroup": 1000680000, "checkpoint.claim.size": 10737418240,
                   "chief.deadlineSeconds": 2592000, "wait.refusalPatienceSeconds": 2592001, "serve.progressDeadlineSeconds": 2592002,
                   "ps.terminationGracePeriodSeconds": 2592003}
        switches = ["--set", "serve.enabled=true", "--set", "job.checkpoint.uri=/checkpoints", "--set", "checkpoint.claim.enabled=true",
                    "--set", "tls.enabled=true", "--set", "tls.issuer.name=ca", "--set", "tls.csiDriver=true"]
        texts = [template(*words, *switches) for words in self.written(**numbers)]
        for text in texts:
            self.assertMultiLineEqual(text, texts[0])
            self.assertNotRegex(text.split("job.yaml: |")[0] + text.split("job.yaml: |")[1].split("---", 1)[1], r"[0-9]e\+[0-9]")
        for said in ("--fresh-once=20261129", 'fs-group: "1000680000"', "storage: 10737418240", "- chief.20261130.capstan", "/checkpoints/20261130",
                     "--name=20261130", "--chief-deadline=2592000", "--refusal-patience=2592001", "progressDeadlineSeconds: 2592002",
                     "terminationGracePeriodSeconds: 2592003"):
            self.assertIn(said, texts[0])
        self.assertEqual(job_of(yaml.safe_load_all(texts[0]))["job"], "20261130")

    def test_a_number_too_long_for_a_float_is_the_same_text_too(self):
        for words in self.written(**{"chief.freshStart": 1764448200123456789}):
            self.assertIn("--fresh-once=1764448200123456768", template(*words))

    def test_a_job_of_numbers_beyond_a_million_is_what_the_chief_reads_it_as(self):
        numbers = {"job.train.batch_size": 1048576, "job.train.max_steps": 123456789, "job.seed": 4294967297, "job.table.byte_budget": 2147483648}
        for words in self.written(**numbers):
            job = job_of(objects(*words))
            self.assertEqual([float(job["train"][key]) for key in ("batch_size", "max_steps")], [1048576, 123456789])
            self.assertEqual([float(job["seed"]), float(job["table"]["byte_budget"])], [4294967297, 2147483648])
            self.assertEqual(mistakes_of(job), [])

    def test_a_section_of_the_job_that_is_no_map_is_told_with_what_belongs_there(self):
        for section, example in (("data", "{format: csv"), ("model", "{preset: deepfm}"), ("update", "{sparse: {policy: async}"),
                                 ("table", "{byte_budget: 4GiB}"), ("checkpoint", "{uri: s3://bucket/prefix}")):
            for words, is_ in ((["--set", f"job.{section}=s3"], '"s3"'), (["--set", f"job.{section}=7"], "7"), (["--set", f"job.{section}={{a,b}}"], '["a","b"]')):
                self.refused(f"job.{section}: is {is_}, and not a map of its keys, such as {example}", *words, "--set", "networkPolicy.enabled=true")
        self.refused('job.update.dense: is "sync", and not a map of its keys, such as {policy: sync, lanes: 4}', "--set", "job.update.dense=sync")
        self.refused("job.checkpoint.uri: is 5, and not a text", "--set", "job.checkpoint.uri=5")

    def test_a_section_that_a_text_leaves_empty_is_none(self):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write("job: ctr\ndata: {format: synthetic}\nmodel:\nupdate: {dense: }\ntable:\ncheckpoint:\n")
            file.flush()
            objects("--set-file", f"job={file.name}", "--set", "networkPolicy.enabled=true")

    def test_a_worker_has_as_long_to_finish_its_steps_as_its_pod_leaves_it(self):
        def told(*words):
            return [word for word in of_kind(objects(*words), "Deployment")[0]["spec"]["template"]["spec"]["containers"][0]["args"] if "drain" in word]
        self.assertEqual(told(), ["--drain=4"])
        self.assertEqual(told("--set", "worker.drainSeconds=null"), ["--drain=4"])  # With the values of an earlier release.
        self.assertEqual(told("--set", "worker.drainSeconds=54", "--set", "worker.terminationGracePeriodSeconds=60"), ["--drain=54"])
        self.refused("worker.terminationGracePeriodSeconds: 30 is less than worker.drainSeconds + 6", "--set", "worker.drainSeconds=25")

    def test_a_text_job_is_kept_as_it_is(self):
        config, = (one for one in rendered("job-text") if one["metadata"]["name"] == "ctr-job")
        self.assertTrue(config["data"]["job.yaml"].startswith("# Kept as it is, comments included.\n"))

    def test_a_text_job_without_a_name_is_refused(self):
        with tempfile.NamedTemporaryFile("w", suffix=".yaml") as file:
            file.write("data: {format: synthetic}\n")
            file.flush()
            self.refused("job.job: is missing", "--set-file", f"job={file.name}")

    def test_a_release_whose_name_cannot_be_that_of_a_service_is_refused(self):
        for name in ("ctr.v2", "123", "1a"):
            with self.assertRaisesRegex(ValueError, "fullnameOverride"):
                template(release=name)
            objects("--set", "fullnameOverride=ctr", release=name)

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


if __name__ == "__main__":
    require_helm()
    unittest.main(verbosity=2)
