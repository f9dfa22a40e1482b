"""Tensors of a program in groups with settings of their own: they end as with the parameter groups of plain PyTorch."""

import os
import pathlib
import random
import sys
import tempfile
import unittest

from python_data import skip_if_lacking

if __name__ == "__main__":
    skip_if_lacking()

sys.path.insert(0, os.environ["PYTHONPATH"])
import torch  # noqa: E402

import capstan_ps  # noqa: E402
from crew import BINARIES  # noqa: E402
from python_crew import PythonCrew  # noqa: E402

RECORDS, EPOCHS = 64, 12
JOB = """
job: line
data: {format: csv, train: %s, schema: {label: 0, numeric: "1-2"}}
model: {user: line.py, loss: squared}
optimizer: {dense: {kind: momentum, learning_rate: 0.2, weight_decay: 0.3, groups: [{match: "%s", weight_decay: 0}]}}
update: {sparse: {policy: sync, lanes: 1}, dense: {policy: sync, lanes: 1}}
train: {batch_size: %d, epochs: %d}
worker_lease: 2s
heartbeat: 200ms
"""


class OptimizerGroupsTest(unittest.TestCase):

    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="capstan-groups-")
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        os.environ["CAPSTAN"] = str(BINARIES / "capstan")
        draw = random.Random(1)
        numbers = [(draw.random(), draw.random()) for _ in range(RECORDS)]
        self.records = [(round(5 + a - 2 * b, 4), round(a, 4), round(b, 4)) for a, b in numbers]
        (self.folder / "line.csv").write_text("".join(f"{y},{a},{b}\n" for y, a, b in self.records))

    def job(self, match):
        return JOB % (self.folder / "line.csv", match, RECORDS, EPOCHS)

    def plain(self, bias_decays):
        torch.manual_seed(1)
        line = torch.nn.Linear(2, 1)
        of_bias = {} if bias_decays else {"weight_decay": 0}
        optimizer = torch.optim.SGD([{"params": [line.weight]}, {"params": [line.bias], **of_bias}], lr=0.2, momentum=0.9, weight_decay=0.3)
        records = torch.tensor(self.records)
        for _ in range(EPOCHS):
            optimizer.zero_grad()
            ((line(records[:, 1:]).squeeze(1) - records[:, 0]) ** 2).mean().backward()
            optimizer.step()
        return line.state_dict()

    def test_a_bias_without_decay_ends_as_with_the_parameter_groups_of_pytorch(self):
        with PythonCrew(self.job("bi*"), example="line", workers=1, name="line") as crew:
            crew.wait()
            found = capstan_ps.load(crew.manifest().parent).state_dict()
        wanted = self.plain(bias_decays=False)
        for name in ("weight", "bias"):
            torch.testing.assert_close(found[name], wanted[name], atol=1e-5, rtol=1e-5)
        self.assertGreater((found["bias"] - self.plain(bias_decays=True)["bias"]).abs().item(), 0.1, "decay would be seen")

    def test_a_group_that_matches_no_tensor_is_refused_with_the_names_that_there_are(self):
        with PythonCrew(self.job("*.bias"), example="line", workers=1, name="refused") as crew:
            self.assertEqual(crew.end_of("worker-0"), 2, crew.log("worker-0"))
            self.assertIn("optimizer.dense.groups[0]: no tensor that is trained is named *.bias; there are bias, weight", crew.log("worker-0"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
