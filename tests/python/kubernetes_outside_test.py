"""A program outside of a Kubernetes cluster looks at a job through kubectl: what it reads, that what kubectl does follows the job, what
is said when it cannot be done, and that no kubectl is left. The job is real; kubectl is a script that forwards to it."""

import contextlib
import gc
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from unittest import mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
from python_data import CLICKS, PYTHON, skip_if_lacking

if __name__ == "__main__":
    skip_if_lacking()

sys.path.insert(0, os.environ["PYTHONPATH"])
import grpc  # noqa: E402
import numpy as np  # noqa: E402

import capstan_ps as cap  # noqa: E402
from authority import Authority  # noqa: E402
from crew import Crew  # noqa: E402
from fake_cluster import SHARD, ChiefInCluster, FakeCluster  # noqa: E402
from tls_crew import TlsCrew  # noqa: E402

JOB = CLICKS % (4000, "preset: deepfm, hidden: [16]")
# One worker's steps take so long that the job lasts longer than any test.
LONG = {"pace": 100, "workers": 1, "shards": 2, "exit_when_done": False}
LONG_JOB = CLICKS % (100000, "preset: deepfm, hidden: [16]") + "checkpoint: {every: 1s}"
KEYS = np.arange(1000)
CHIEF = "chief at ctr-chief.training.svc:7000: "
LOOKS = """
import sys
import capstan_ps as cap
job = cap.connect(kubernetes="training/ctr")
list(job.tables.values())[0].pull(range(1000))
print("pulled", flush=True)
sys.stdin.readline()
"""


class KubernetesOutsideTest(unittest.TestCase):

    def setUp(self):
        self.cluster = self.enterContext(FakeCluster())
        os.environ.pop("CAPSTAN_TLS", None)

    @contextlib.contextmanager
    def release(self, crew):
        """The crew is the release ctr of the namespace training."""
        with crew, ChiefInCluster(lambda: grpc.insecure_channel(crew.address)) as chief:
            self.cluster.put("service/ctr-chief", chief.port)
            yield crew

    @staticmethod
    def outside(**options):
        return cap.connect(kubernetes="training/ctr", **options)

    def test_what_is_pulled_from_outside_is_what_is_pulled_inside(self):
        with self.release(Crew(JOB, shards=2, workers=2, name="outside", exit_when_done=False)) as crew:
            crew.until_state("COMPLETED")
            inside, job = cap.connect(crew.address), self.outside()
            self.assertEqual(job.status().examples, inside.status().examples)
            self.assertEqual(len(self.cluster.calls()), 1, "forwards to shards of which nothing is wanted")
            self.same(inside, job)
            ports = [crew.ports(f"ps-{index}")["data"] for index in (0, 1)]
            asked = ["--namespace", "training", "port-forward", "--address=127.0.0.1"]
            self.assertEqual([words for _, words in self.cluster.calls("service/ctr-chief")], [[*asked, "service/ctr-chief", ":7000"]])
            for index, port in enumerate(ports):
                self.assertEqual([words for _, words in self.cluster.calls(f"pod/ctr-ps-{index}")], [[*asked, f"pod/ctr-ps-{index}", f":{port}"]])
            # Those that end are started again, and values do not wait for that of the chief.
            for process, _ in self.cluster.calls():
                os.kill(process, signal.SIGKILL)
            self.same(inside, job)
            self.assertEqual(job.status().examples, inside.status().examples)
            self.cluster.until_alive(3)
            self.assertEqual(len(self.cluster.calls()), 6)
            self.cluster.refuse("service/ctr-chief", "error: the server is away")
            os.kill(self.cluster.alive("service/ctr-chief")[0], signal.SIGKILL)
            self.same(inside, job)
            del job
            gc.collect()
            self.assertEqual(self.cluster.alive(), [], "they outlive the client")

    def same(self, inside, outside):
        table, = inside.tables.values()
        np.testing.assert_array_equal(outside.tables[table.name].pull(KEYS), table.pull(KEYS))
        self.assertTrue(table.pull(KEYS).any())
        for name, tensor in inside.tensors.items():
            np.testing.assert_array_equal(outside.tensors[name].pull(), tensor.pull())

    def test_forwards_follow_shards_that_are_replaced_and_that_come(self):
        with self.release(Crew(LONG_JOB, name="outside-shards", **LONG)) as crew:
            crew.until_checkpoints(1)
            job = self.outside()
            table, = job.tables.values()
            table.pull(KEYS)
            before, = self.cluster.alive("pod/ctr-ps-1")
            crew.kill("ps-1")
            crew.add_shard(1)
            crew.ports("ps-1")
            self.assertTrue(np.isfinite(table.pull(KEYS)).all())
            now, = self.cluster.alive("pod/ctr-ps-1")
            self.assertNotEqual(now, before)
            self.assertIn(f":{crew.ports('ps-1')['data']}", self.cluster.calls("pod/ctr-ps-1")[-1][1])
            crew.add_shard(2)
            crew.until(lambda: table.pull(KEYS) is not None and self.cluster.alive("pod/ctr-ps-2"), "values of a shard that has come")
            crew.processes["ps-2"].terminate()
            crew.until(lambda: table.pull(KEYS) is not None and not self.cluster.alive("pod/ctr-ps-2"), "the end of what led to a shard that has left")
            self.assertEqual(len(self.cluster.alive()), 3)

    def test_a_kubectl_that_hangs_is_replaced_when_patience_is_over(self):
        with self.release(Crew(LONG_JOB, name="outside-hang", **LONG)) as crew:
            crew.until_examples(500)
            job = self.outside(chief_patience=3)
            hanging, = self.cluster.alive()
            os.kill(hanging, signal.SIGSTOP)
            with self.assertRaisesRegex(ConnectionError, f"^{CHIEF}tried for 3s: "):
                job.status()
            self.assertEqual(job.status().job, "clicks")
            now, = self.cluster.alive()
            self.assertNotEqual(now, hanging)

    def test_with_tls_both_ends_are_who_their_certificates_say(self):
        with tempfile.TemporaryDirectory() as folder:
            authority = Authority(pathlib.Path(folder) / "authority")
            with TlsCrew(LONG_JOB, authority, job_name="clicks", name="outside-tls", **LONG) as crew:
                crew.issue("client")
                crew.until_examples(500)
                with ChiefInCluster(lambda: crew.connect_as("client", "chief", crew.address), self.server_of(crew)) as chief:
                    self.cluster.put("service/ctr-chief", chief.port)
                    self.check_tls(crew)

    @staticmethod
    def server_of(crew):
        authority, key, certificate = ((crew.certificates("chief") / name).read_bytes() for name in ("ca.crt", "tls.key", "tls.crt"))
        return grpc.ssl_server_credentials([(key, certificate)], authority, require_client_auth=True)

    def check_tls(self, crew):
        job = self.outside(tls=crew.certificates("client"))
        table, = job.tables.values()
        self.assertEqual(table.pull(KEYS).shape, (len(KEYS), table.dim))
        with self.assertRaisesRegex(ConnectionError, f"^{CHIEF}tried for 1s: "):
            self.outside(chief_patience=1)  # Without a certificate.
        # What is no shard is not believed to be one, though it has a certificate of the job.
        self.lead_shard_0_to(int(crew.address.rpartition(":")[2]))
        hasty = self.outside(tls=crew.certificates("client"), pull_patience=5)
        with self.assertRaisesRegex(ConnectionError, f"^{CHIEF}tried for 5s: failed to connect"):
            hasty.tables[table.name].pull(KEYS)
        self.lead_shard_0_to(crew.ports("ps-0")["data"])
        self.assertEqual(table.pull(KEYS).shape, (len(KEYS), table.dim))

    def lead_shard_0_to(self, port):
        self.cluster.put("pod/ctr-ps-0", port)
        for process in self.cluster.alive("pod/ctr-ps-0"):
            os.kill(process, signal.SIGKILL)

    def test_what_kubectl_says_as_it_ends_is_told(self):
        missing = 'Error from server (NotFound): services "ctr-chief" not found'
        forbidden = 'Error from server (Forbidden): services "ctr-chief" is forbidden: User "ada" cannot get resource "services"'
        pending = "warning: something else\nerror: unable to forward port because pod is not running. Current status=Pending"
        begin = f"{CHIEF}kubectl port-forward service/ctr-chief: "
        for text, error, line in ((missing, LookupError, begin + missing), (forbidden, PermissionError, begin + forbidden)):
            self.cluster.refuse("service/ctr-chief", text)
            self.raises(error, line)
        waited = f"{CHIEF}tried for 3s: kubectl port-forward service/ctr-chief: "
        for text, line in ((pending, waited + pending.splitlines()[-1]), ("", f"{waited}it has ended, and does not say why")):
            calls = len(self.cluster.calls())
            self.cluster.refuse("service/ctr-chief", text)
            self.raises(ConnectionError, line, chief_patience=3)
            self.assertIn(len(self.cluster.calls()) - calls, range(2, 7), "it is to be tried again, and not all the time")
        self.assertEqual(self.cluster.alive(), [])
        with mock.patch.dict(os.environ, {"PATH": "/nonexistent"}):
            self.raises(RuntimeError, "outside of the cluster the job is reached through kubectl, and there is none in PATH; install it, or run "
                        "this program in a pod")

    def raises(self, error, line, **options):
        with self.assertRaises(error) as raised:
            self.outside(**options)
        self.assertEqual(str(raised.exception), line)

    def test_a_context_is_kubectls_and_reaches_another_cluster_from_a_pod_too(self):
        self.cluster.refuse("service/ctr-chief", "error: context was not found for specified context: west")
        os.environ["KUBERNETES_SERVICE_HOST"] = "10.96.0.1"
        with self.assertRaisesRegex(ConnectionError, "context was not found for specified context: west$"):
            cap.connect(kubernetes="ctr", context="west", chief_patience=5)
        self.assertEqual(self.cluster.calls()[0][1][:3], ["--context", "west", "port-forward"])
        with self.assertRaisesRegex(ValueError, "context= is one of kubectl's"):
            cap.connect("localhost:7000", context="west")

    def test_no_kubectl_outlives_a_program_however_that_ends(self):
        with self.release(Crew(LONG_JOB, name="outside-end", **LONG)) as crew:
            crew.until_examples(500)
            for end in (lambda program: program.kill(), lambda program: program.terminate(), lambda program: program.stdin.close()):
                with subprocess.Popen([PYTHON, "-c", LOOKS], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
                    self.assertEqual(program.stdout.readline(), "pulled\n")
                    self.cluster.until_alive(3)
                    end(program)
                    program.wait(10)
                self.cluster.until_alive(0)

    def test_ctrl_c_ends_the_wait_and_kubectl(self):
        self.cluster.refuse("service/ctr-chief", "error: timed out")
        with subprocess.Popen([PYTHON, "-c", LOOKS], stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as program:
            deadline = time.monotonic() + 30
            while len(self.cluster.calls()) < 3 and time.monotonic() < deadline:
                time.sleep(0.05)
            program.send_signal(signal.SIGINT)
            self.assertRegex(program.communicate(timeout=5)[1], r"KeyboardInterrupt\s*$")
        self.cluster.until_alive(0)

    def test_a_process_that_the_program_forks_leaves_kubectl_alone(self):
        forks = ("import os, sys, time\nfrom capstan_ps.port_forward import PortForwards\nforwards = PortForwards('ctr-chief:7000')\n"
                 "while True:\n    try:\n        forwards.resolve('ctr-chief:7000')\n        break\n"
                 "    except ConnectionError:\n        time.sleep(0.05)\n"
                 "if not (child := os.fork()):\n    sys.exit()\n"
                 "os.waitpid(child, 0)\nprint('forked', flush=True)\nsys.stdin.readline()\n")
        with subprocess.Popen([PYTHON, "-c", forks], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as program:
            self.assertEqual(program.stdout.readline(), "forked\n")
            time.sleep(0.5)
            self.cluster.until_alive(1)
            program.stdin.close()
            program.wait(10)
        self.cluster.until_alive(0)

    def test_a_shard_that_has_no_name_of_a_pod_is_told(self):
        from capstan_ps.kubernetes import pod_of
        self.assertEqual(pod_of(SHARD % (7, 7000)), ("pod/ctr-ps-7", "training", "7000"))
        for address in ("10.0.0.7:7000", "ctr-ps-0:7000", "-o.ctr-ps.training.svc:7000", "ctr-ps-0.ctr-ps.-a.svc:7000",
                        "ctr-ps-0.ctr-ps.training.svc.cluster.local:x"):
            with self.assertRaisesRegex(ConnectionError, f"^a shard is known as '{address}', which is no name of a pod of the chart"):
                pod_of(address)


if __name__ == "__main__":
    unittest.main(verbosity=2)
