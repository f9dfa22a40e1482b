"""A notebook's pod on a real cluster looks at a job by the name of its release, with the certificate of a reader and through network
policies; and so does a program outside, through kubectl. Skips, loudly, without a cluster or the image `torch`."""

import contextlib
import os
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
sys.dont_write_bytecode = True
from authority import ROLES, Authority
from cluster import IMAGE, KUBE, ROOT, TAG, Namespace, Release, merged, require_cluster, require_torch_image, run
from cluster_jobs import certificates, secret_of, synthetic

import yaml

LOOKS = """
import capstan_ps as cap
job = cap.connect(kubernetes="%s", chief_patience=%d)
table, = job.tables.values()
rows = table.pull(range(1000))
print(job.status().job, len(job.status().shards), rows.shape == (1000, table.dim), bool(rows.any()))
"""

# The digest of a job's values, as `tls` lets one see them.
READS = """
import hashlib
import capstan_ps as cap
job = cap.connect(kubernetes="%s/ctr", tls=%r, chief_patience=60)
values = [job.tables[name].pull(range(1000)) for name in sorted(job.tables)] + [job.tensors[name].pull() for name in sorted(job.tensors)]
print(job.status().job, any(each.any() for each in values), hashlib.sha256(b"".join(each.tobytes() for each in values)).hexdigest())
"""
# Of the program outside: how many of kubectl it has, and that it finds the chief's next pod.
GOES_ON = """
import gc
import subprocess
from capstan_ps.port_forward import Kubectl
print(sum(isinstance(each, Kubectl) for each in gc.get_objects()))
subprocess.run(["kubectl", "--namespace", "%s", "delete", "pod", "ctr-chief-0"], check=True, capture_output=True)
print(job.status().job)
"""


def notebook(**metadata):
    """The pod of the example, with this cluster's image."""
    pod = yaml.safe_load((ROOT / "deploy/examples/notebook/pod.yaml").read_text())
    pod["metadata"].update(metadata)
    pod["spec"]["containers"][0]["image"] = f"{IMAGE}/torch:{TAG}"
    return pod


@contextlib.contextmanager
def training(name):
    """A namespace with a job of TLS and network policies, and a pod that may look at it; the authority of its certificates."""
    with Namespace(name) as namespace, tempfile.TemporaryDirectory() as folder:
        authority = Authority(pathlib.Path(folder) / "authority")
        secrets = certificates(authority, "ctr")
        reader = secret_of(authority, "ctr-client-tls", ["client.ctr.capstan"])
        namespace.apply(*secrets, reader, notebook(), notebook(name="stranger", labels={"app": "stranger"}))
        names = {role: secret["metadata"]["name"] for role, secret in zip(ROLES, secrets)}
        release = Release(namespace, "ctr", merged(synthetic(20000), {
            "tls": {"enabled": True, "secrets": names},
            "networkPolicy": {"enabled": True, "readers": [{"podSelector": {"matchLabels": {"app": "notebook"}}}]}}))
        release.install()
        release.until_examples(1)
        namespace.kubectl("wait", "--for=condition=Ready", "pod/notebook", "pod/stranger", "--timeout=120s", timeout=150)
        yield namespace, release, authority


class KubernetesNotebookTest(unittest.TestCase):

    def test_a_pod_that_is_let_in_sees_the_job_and_another_one_does_not(self):
        with training("capstan-e2e-notebook") as (namespace, _, _):
            for job in ("ctr", f"{namespace.name}/ctr"):
                done = self.run_in(namespace, "notebook", LOOKS % (job, 60))
                self.assertEqual(done.returncode, 0, done.stderr)
                self.assertEqual(done.stdout.split(), ["ctr", "2", "True", "True"])
            done = self.run_in(namespace, "stranger", LOOKS % ("ctr", 3))
            self.assertEqual(done.returncode, 1)
            self.assertRegex(done.stderr, "(?m)^ConnectionError: chief at ctr-chief:7000: tried for 3s: ")

    def test_a_program_outside_reads_what_a_pod_reads(self):
        with training("capstan-e2e-outside") as (namespace, release, authority):
            release.until(lambda status: status["state"] == "JOB_STATE_COMPLETED", "the end of the job")
            inside = self.run_in(namespace, "notebook", READS % (namespace.name, None))
            self.assertEqual(inside.returncode, 0, inside.stderr)
            own = str(authority.issue(authority.folder / "person", ["client.ctr.capstan"]))
            outside = self.run_outside(READS % (namespace.name, own) + GOES_ON % namespace.name)
            self.assertEqual(outside.returncode, 0, outside.stderr)
            self.assertEqual(outside.stdout.split(), [*inside.stdout.split(), "3", "ctr"])
            self.assertEqual(inside.stdout.split()[:2], ["ctr", "True"])
            nobody = self.run_outside(READS % ("capstan-e2e-nothing", own))
            self.assertRegex(nobody.stderr, r'(?m)^LookupError: chief at .*: kubectl port-forward service/ctr-chief: Error from server \(NotFound\)')

    def run_in(self, namespace, pod, program):
        return namespace.kubectl("exec", pod, "--", "/usr/bin/python3", "-c", program, check=False)

    def run_outside(self, program):
        """On this machine, or beside the cluster's node, whose network is the only one that reaches its API."""
        package = pathlib.Path(os.environ["CAPSTAN_BIN"]).resolve().parent / "python"
        beside = [] if os.environ.get("KUBECONFIG") else [KUBE, "exec", "--"]
        return run(*beside, "env", f"PYTHONPATH={package}", "/usr/bin/python3", "-c", program, check=False, timeout=180)


if __name__ == "__main__":
    require_cluster()
    require_torch_image()
    unittest.main(verbosity=2)
