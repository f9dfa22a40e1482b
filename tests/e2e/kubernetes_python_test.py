"""Workers that are a program of the user's, on a real cluster: the image `torch`, worker.code, a worker that is killed, one that is
asked to end, another text, the same program that serves, and one that fails. Skips, loudly, without a cluster or that image."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
sys.dont_write_bytecode = True
from cluster import ROOT, Namespace, Release, merged, require_cluster, require_torch_image
from cluster_jobs import claim

import yaml

EXAMPLES = ROOT / "deploy/examples/python"
RECORDS = 60000


def program(text=None, **job):
    """deepfm.yaml and its program, in four synchronous lanes."""
    spec = yaml.safe_load((EXAMPLES / "deepfm.yaml").read_text())
    del spec["job"]
    lanes = {"policy": "sync", "lanes": 4}
    return {
        "job": merged(spec, {"data": {"synthetic": {"train_rows": RECORDS, "eval_rows": 5000}, "task_records": 1000},
                             "update": {"sparse": lanes, "dense": lanes}, "worker_lease": "3s", "heartbeat": "200ms",
                             "checkpoint": {"uri": "file:///checkpoints/models"}, **job}),
        "checkpoint": {"volume": {"persistentVolumeClaim": {"claimName": "models"}}},
        "worker": {"code": {"deepfm.py": text or (EXAMPLES / "deepfm.py").read_text()}}}


class KubernetesPythonTest(unittest.TestCase):

    def test_a_users_program_trains_to_the_end_though_workers_are_killed_asked_to_end_and_replaced(self):
        with Namespace("capstan-e2e-python") as namespace:
            namespace.apply(claim("models"))
            release = Release(namespace, "ctr", program())
            release.install("--wait", "--timeout=180s")
            release.scale(2)
            release.until_workers(2)
            release.until_examples(RECORDS // 10)
            release.delete_pod(release.pods("worker")[0]["metadata"]["name"], force=True)
            release.until_examples(RECORDS // 5)
            before = {pod["metadata"]["name"] for pod in release.pods("worker")}
            # The same model with other words: the workers are replaced, each of which gives back what it holds.
            release.values = merged(release.values, program((EXAMPLES / "deepfm.py").read_text() + "\n# Another text.\n"))
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

    def test_a_program_that_fails_ends_the_job_and_the_pod_says_why(self):
        failing = (EXAMPLES / "deepfm.py").read_text().replace(
            "def step(model, batch):", 'def step(model, batch):\n    raise ValueError("the labels are upside down")\n\n\ndef former(model, batch):')
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
    unittest.main(verbosity=2)
