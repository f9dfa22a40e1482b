"""A job on Kubernetes is named by its release: what `connect` makes of that in a pod."""

import os
import pathlib
import sys
import tempfile
import unittest
from unittest import mock

from python_data import skip_if_lacking

if __name__ == "__main__":
    skip_if_lacking()

sys.path.insert(0, os.environ["PYTHONPATH"])
import capstan_ps as cap  # noqa: E402
from capstan_ps import kubernetes  # noqa: E402

IN_A_POD = {"KUBERNETES_SERVICE_HOST": "10.96.0.1"}
CERTIFICATE = "this is no certificate"


class KubernetesAddressTest(unittest.TestCase):

    def setUp(self):
        environment = mock.patch.dict(os.environ, IN_A_POD)
        environment.start()
        self.addCleanup(environment.stop)
        os.environ.pop("CAPSTAN_TLS", None)

    def test_a_release_is_looked_for_in_the_pods_namespace_or_in_the_one_that_is_named(self):
        for job, address in (("ctr", "ctr-chief:7000"), ("training/ctr", "ctr-chief.training.svc:7000")):
            self.assertEqual(kubernetes.chief_of(job), address)
            with self.assertRaisesRegex(ConnectionError, rf"^chief at {address}: tried for 100ms: "):
                cap.connect(kubernetes=job, chief_patience=0.1)

    def test_what_names_no_release_is_refused(self):
        for job in ("", "/", "training/", "/ctr", "a/b/ctr", "ctr:7000", "Ctr", "-ctr", "ctr.training"):
            with self.assertRaisesRegex(ValueError, "is neither a release of Helm nor namespace/release"):
                cap.connect(kubernetes=job)
        with self.assertRaisesRegex(ValueError, "either the address of a chief, or kubernetes="):
            cap.connect("localhost:7000", kubernetes="ctr")

    def test_the_mounted_certificate_is_used_for_a_job_on_kubernetes_unless_another_folder_is_named(self):
        with tempfile.TemporaryDirectory() as mounted, tempfile.TemporaryDirectory() as other:
            with mock.patch.object(kubernetes, "MOUNTED", mounted):
                with self.assertRaises(ConnectionError):  # An empty folder is none: the secret is optional.
                    cap.connect(kubernetes="ctr", chief_patience=0.1)
                for folder in (mounted, other):
                    (pathlib.Path(folder) / "tls.crt").write_text(CERTIFICATE)
                self.refused(mounted, kubernetes="ctr")
                self.refused(other, kubernetes="ctr", tls=other)
                with self.assertRaises(ConnectionError):
                    cap.connect("localhost:1", chief_patience=0.1)
                with self.assertRaises(ConnectionError):
                    cap.connect(kubernetes="ctr", tls="", chief_patience=0.1)
                os.environ["CAPSTAN_TLS"] = other
                self.refused(other, kubernetes="ctr")

    def refused(self, folder, **options):
        with self.assertRaisesRegex(ValueError, f"{folder}/"):
            cap.connect(chief_patience=0.1, **options)


if __name__ == "__main__":
    unittest.main(verbosity=2)
