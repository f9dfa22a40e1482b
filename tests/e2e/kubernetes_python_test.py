"""Workers that are a program of the user's, on a real cluster: the image `torch`, worker.code, more and fewer workers, one that is
killed, one that is asked to end, another text, the same program that serves, and one that fails. Skips, loudly, without a cluster, that
image, or what the same program needs to train here."""

import json
import pathlib
import sys
import unittest

sys.path[:0] = [str(pathlib.Path(__file__).parent), str(pathlib.Path(__file__).parents[1] / "python")]
sys.dont_write_bytecode = True
from cluster import ROOT, Namespace, Release, merged, require_cluster, require_torch_image
from cluster_jobs import claim
from python_crew import PythonCrew
from python_data import skip_if_lacking

import yaml

EXAMPLES = ROOT / "deploy/examples/python"
RECORDS = 120000
STEP = "def step(model, batch):"
# So slow that the job lasts while workers come and go.
SLOW = (EXAMPLES / "deepfm.py").read_text().replace(STEP, STEP + '\n    __import__("time").sleep(0.5)\n')


def program(text=None, **job):
    """deepfm.yaml and its program, in four synchronous lanes."""
    spec = yaml.safe_load((EXAMPLES / "deepfm.yaml").read_text())
    del spec["job"]
    lanes = {"policy": "sync", "lanes": 4}
    return {
        "job": merged(spec, {"data": {"synthetic": {"train_rows": RECORDS, "eval_rows": 5000}, "task_records": 1000},
                             "update": {"sparse": lanes, "dense": dict(lanes)}, "worker_lease": "3s", "heartbeat": "200ms",
                             "checkpoint": {"uri": "file:///checkpoints/models"}, **job}),
        "checkpoint": {"volume": {"persistentVolumeClaim": {"claimName": "models"}}},
        "worker": {"code": {"deepfm.py": text or (EXAMPLES / "deepfm.py").read_text()}}}


class KubernetesPythonTest(unittest.TestCase):

    def bits_undisturbed(self):
        """Of the model that the same job comes to on this machine: bytes and checksum of each partition."""
        job = yaml.safe_dump({"job": "ctr", **program()["job"]})
        with PythonCrew(job, example="deepfm", shards=1, workers=1, name="undisturbed") as crew:
            crew.wait()
            return crew.fingerprint()

    def bits(self, namespace, model):
        """Likewise of the release's model, which a pod that serves it can read."""
        manifest = namespace.kubectl("exec", "deployment/ctr-serve", "--", "python3", "-c",
                                     "import sys; print(open(sys.argv[1]).read())", model.removeprefix("file://") + "/MANIFEST.json").stdout
        return sorted((of.get("partition", 0), of["bytes"], of["crc32c"]) for of in json.loads(manifest)["files"])

    def test_a_users_program_trains_to_the_same_bits_though_workers_come_go_are_killed_and_replaced(self):
        undisturbed = self.bits_undisturbed()
        with Namespace("capstan-e2e-python") as namespace:
            namespace.apply(claim("models"))
            release = Release(namespace, "ctr", program(SLOW))
            release.install("--wait", "--timeout=180s")
            for workers in (3, 1, 4):
                release.scale(workers)
                release.until_workers(workers)
                self.assertEqual(release.goes_on()["state"], "JOB_STATE_RUNNING")
            release.delete_pod(release.pods("worker")[0]["metadata"]["name"], force=True)
            self.assertEqual(release.goes_on()["state"], "JOB_STATE_RUNNING")
            before = {pod["metadata"]["name"] for pod in release.pods("worker")}
            # The same model with other words, and quick: the workers are replaced, each of which gives back what it holds.
            release.values = merged(release.values, program())
            release.upgrade()
            namespace.kubectl("rollout", "status", "deployment/ctr-worker", "--timeout=120s")
            self.assertEqual(before & {pod["metadata"]["name"] for pod in release.pods("worker")
                                       if "deletionTimestamp" not in pod["metadata"]}, set())
            release.wait_job("complete", timeout=240)
            status = release.status()
            self.assertEqual((status["state"], int(status["examples"])), ("JOB_STATE_COMPLETED", RECORDS))
            # The same program serves what it has trained.
            release.values = merged(release.values, {"serve": {"enabled": True, "resources": release.values["worker"]["resources"]}})
            release.upgrade()
            namespace.kubectl("rollout", "status", "deployment/ctr-serve", "--timeout=120s")
            answer = release.scores(*(",".join([cell] * 39) for cell in ("x", "y")))
            self.assertTrue(status["model_uri"].endswith("/" + answer["model_version"]), (status["model_uri"], answer))
            scores = answer["outputs"][0]["data"]
            self.assertTrue(len(scores) == 2 and all(0 < score < 1 for score in scores), answer)
            self.assertEqual(self.bits(namespace, status["model_uri"]), undisturbed)

    def test_a_program_that_fails_ends_the_job_and_the_pod_says_why(self):
        failing = (EXAMPLES / "deepfm.py").read_text().replace(
            STEP, STEP + '\n    raise ValueError("the labels are upside down")\n\n\ndef former(model, batch):')
        with Namespace("capstan-e2e-fails") as namespace:
            namespace.apply(claim("models"))
            release = Release(namespace, "ctr", program(failing))
            release.install()
            release.wait_job("failed", timeout=240)
            told = "ValueError: the labels are upside down"
            self.assertIn(told, release.command("status").stdout)
            pod, = release.pods("worker")
            ended = pod["status"]["containerStatuses"][0]["lastState"]["terminated"]
            self.assertEqual(ended["exitCode"], 3)
            self.assertTrue(ended["message"].strip().endswith(told), ended["message"])


if __name__ == "__main__":
    require_cluster()
    require_torch_image()
    skip_if_lacking()
    unittest.main(verbosity=2)
