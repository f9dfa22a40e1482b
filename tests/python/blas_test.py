"""A program knows which library multiplies its matrices: workers of one job need the same, and the reference one is slow."""

import os
import sys
import unittest

from python_data import skip_if_lacking

if __name__ == "__main__":
    skip_if_lacking()

sys.path.insert(0, os.environ["PYTHONPATH"])
import torch  # noqa: E402
from capstan_ps import blas  # noqa: E402

DEBIAN = "/usr/lib/x86_64-linux-gnu"


class BlasTest(unittest.TestCase):

    def test_it_is_named_by_its_file_and_the_one_behind_a_wrapper_counts(self):
        for loaded, name, is_reference in (
                ([f"{DEBIAN}/blas/libblas.so.3.11.0", f"{DEBIAN}/libm.so.6"], "libblas.so.3.11.0", True),
                ([f"{DEBIAN}/openblas-openmp/libblas.so.3", f"{DEBIAN}/openblas-openmp/libopenblasp-r0.3.21.so"], "libopenblasp-r0.3.21.so", False),
                (["/env/torch/lib/libmkl_rt.so.2", f"{DEBIAN}/blas/libblas.so.3.11.0"], "libmkl_rt.so.2", False),
                ([f"{DEBIAN}/atlas/libblas.so.3.10.3"], "libblas.so.3.10.3", False),
                ([f"{DEBIAN}/libm.so.6"], "unknown", False)):
            self.assertEqual(blas.library(loaded), (name, is_reference), loaded)

    def test_the_packages_that_are_named_for_programs_bring_one_that_is_not_slow(self):
        self.assertTrue(torch.zeros(1).is_contiguous(), "its libraries are loaded")
        name, is_reference = blas.library()
        self.assertTrue(torch.backends.mkl.is_available() or name != "unknown")
        self.assertFalse(is_reference, "deploy/packages.txt, group torch")


if __name__ == "__main__":
    unittest.main()
