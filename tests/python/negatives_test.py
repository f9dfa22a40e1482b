"""A program with negatives that are drawn from a file: real processes on loopback, beside plain PyTorch that draws its own."""

import os
import pathlib
import random
import re
import sys
import tempfile
import unittest

from python_data import EXAMPLES, SYNC, skip_if_lacking

if __name__ == "__main__":
    skip_if_lacking()

sys.path[:0] = [os.environ["PYTHONPATH"], str(EXAMPLES)]
import numpy as np  # noqa: E402
import torch  # noqa: E402

import capstan_ps  # noqa: E402
from crew import BINARIES, run_to_end  # noqa: E402
from python_crew import PythonCrew  # noqa: E402
from sampled_softmax import SampledSoftmax  # noqa: E402

ITEMS, KINDS = 200, 8
POPULARITY = [1 / (1 + place // KINDS) for place in range(ITEMS)]  # Of the items of a kind, the first ones are chosen most.


def choices(count, seed):
    """(what was chosen before, what then): mostly of the same kind."""
    draw = random.Random(seed)
    of_kind = [[item for item in range(ITEMS) if item % KINDS == kind] for kind in range(KINDS)]

    def choose(kind):
        items = of_kind[kind] if draw.random() < 0.9 else range(ITEMS)
        return draw.choices(items, [POPULARITY[item] for item in items])[0]

    found = []
    for _ in range(count):
        kind = draw.randrange(KINDS)
        found.append(([choose(kind) for _ in range(draw.randrange(1, 5))], choose(kind)))
    return found


def cost(wanted, items, chosen):
    """The mean cross-entropy of the softmax over all items."""
    return float(torch.nn.functional.cross_entropy(wanted @ items.T, torch.tensor(chosen)))


class Plain(torch.nn.Module):
    """sampled_softmax.py's model without Capstan."""

    def __init__(self):
        super().__init__()
        self.items = torch.nn.EmbeddingBag(ITEMS, 16, mode="mean")
        torch.nn.init.normal_(self.items.weight, std=0.3)
        self.wanted = torch.nn.Linear(16, 16)

    def forward(self, histories):
        offsets = torch.tensor([0, *np.cumsum([len(history) for history in histories])[:-1]])
        return self.wanted(self.items(torch.tensor([item for history in histories for item in history]), offsets))


class NegativesTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.train, cls.held_out = choices(8000, seed=1), choices(2000, seed=2)
        cls.counts = [1 + sum(item == chosen for _, chosen in cls.train) for item in range(ITEMS)]

    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="capstan-negatives-")
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        os.environ["CAPSTAN"] = str(BINARIES / "capstan")

    def job(self, update):
        records = [f"1,{chosen},{'|'.join(map(str, history))}" for history, chosen in self.train]
        records += [f"1,{ITEMS},1|2", "1,,3"]  # An item that the file of candidates lacks, and none.
        (self.folder / "train.csv").write_text("\n".join(["chosen,item,before", *records]) + "\n")
        (self.folder / "items.csv").write_text("".join(f"{item},{count}\n" for item, count in enumerate(self.counts)))
        text = (EXAMPLES / "sampled_softmax.yaml").read_text()
        text = re.sub(r"\S+/(train|items)\.csv", lambda file: str(self.folder / file[0].rpartition("/")[2]), text)
        return f"{text}\nworker_lease: 2s\nheartbeat: 200ms\n{update}\n"

    def plain_cost(self, seed):
        torch.manual_seed(seed)
        torch.set_num_threads(1)
        model = Plain()
        optimizers = [torch.optim.Adagrad(model.items.parameters(), lr=0.3, initial_accumulator_value=0.1),
                      torch.optim.Adam(model.wanted.parameters(), lr=0.01)]
        shares = torch.tensor(self.counts, dtype=torch.float).pow(0.75)
        log_share = (shares / shares.sum()).log()
        chosen = torch.tensor([item for _, item in self.train])
        for _ in range(8):
            for places in torch.randperm(len(self.train)).split(100):
                wanted, own = model([self.train[place][0] for place in places]), chosen[places]
                drawn = torch.multinomial(shares, 64, replacement=True)
                others = wanted @ model.items.weight[drawn].T - log_share[drawn]
                others = others.masked_fill(own.unsqueeze(1) == drawn, float("-inf"))
                logits = torch.cat([((wanted * model.items.weight[own]).sum(1) - log_share[own]).unsqueeze(1), others], 1)
                for optimizer in optimizers:
                    optimizer.zero_grad()
                torch.nn.functional.cross_entropy(logits, torch.zeros(len(places), dtype=torch.long)).backward()
                for optimizer in optimizers:
                    optimizer.step()
        with torch.no_grad():
            return cost(model([history for history, _ in self.held_out]), model.items.weight, [item for _, item in self.held_out])

    def cost_of(self, model):
        lines = [f"1,{chosen},{'|'.join(map(str, history))}" for history, chosen in self.held_out]
        with torch.no_grad():
            wanted, _ = model.torch(SampledSoftmax)(model.batch(lines))
        items = torch.from_numpy(model.tables["item"].rows(np.arange(ITEMS, dtype=np.uint64)))
        return cost(wanted, items, [item for _, item in self.held_out])

    def test_choices_are_learnt_as_plain_pytorch_learns_them(self):
        one_lane = "update: {sparse: {policy: sync, lanes: 1}, dense: {policy: sync, lanes: 1}}"
        with PythonCrew(self.job(one_lane), example="sampled_softmax", workers=2, name="choices") as crew:
            crew.wait()
            found = self.cost_of(capstan_ps.load(crew.manifest().parent))
        plain = [self.plain_cost(seed) for seed in (1, 2)]
        shares = np.array(self.counts) / sum(self.counts)
        by_popularity = -np.mean([np.log(shares[chosen]) for _, chosen in self.held_out])
        print(f"cost {found:.4f}, plain {', '.join(f'{one:.4f}' for one in plain)}; by popularity alone {by_popularity:.4f}")
        self.assertLess(found, 1.02 * sum(plain) / len(plain), "another seed makes a difference of 1 %")
        self.assertLess(found, by_popularity - 1)

    def test_bits_do_not_depend_on_the_number_of_workers(self):
        models = []
        for workers in (1, 3):
            with PythonCrew(self.job(SYNC).replace("epochs: 8", "epochs: 1"), example="sampled_softmax", workers=workers, name=f"of-{workers}") as crew:
                crew.wait()
                models.append(crew.manifest().parent.rename(self.folder / f"model-{workers}"))
        code, said = run_to_end("capstan", "checkpoint", "diff", *models)
        self.assertEqual(code, 0, said)
        parts = [line.split() for line in said.splitlines()[1:]]
        self.assertIn("wanted.weight", [part[0] for part in parts])
        for part in parts:
            self.assertEqual(part[3:7], ["0", "0", "0", "0"], said)

    def check(self):
        (self.folder / "checked.yaml").write_text(self.checked)
        return run_to_end("capstan", "config", "check", self.folder / "checked.yaml")

    def test_a_file_with_a_mistake_is_refused_before_anything_is_trained(self):
        self.checked = self.job("")
        code, said = self.check()
        self.assertEqual(code, 0, said)
        self.assertIn(f"64 negatives a batch of {ITEMS} candidates", said)
        with open(self.folder / "items.csv", "a", encoding="ascii") as items:
            items.write("7,2\n")
        code, said = self.check()
        self.assertEqual(code, 2, said)
        self.assertIn(f"items.csv:{ITEMS + 1}: is the id of line 8 again; expected each id once", said)
        (self.folder / "items.csv").unlink()
        code, said = self.check()
        self.assertEqual(code, 2, said)
        self.assertRegex(said, r"checked\.yaml:\d+: data\.negatives\.file: no file matches \S+/items\.csv")


if __name__ == "__main__":
    unittest.main(verbosity=2)
