"""Two towers on MovieLens-100K: of the films that people liked later, Capstan's model finds as many among its first ten as the same model
in plain PyTorch does."""

import collections
import gzip
import math
import os
import pathlib
import re
import sys
import tempfile
import unittest

from python_data import EXAMPLES, SKIPPED, skip_if_lacking

from crew import BINARIES, DATA  # noqa: E402

RATINGS = DATA / "ml-100k"

if __name__ == "__main__":
    skip_if_lacking()
    if not RATINGS.exists():
        print(f"SKIPPED: no real data in {DATA} (deploy/datasets makes it, or CAPSTAN_DATA names its folder)")
        sys.exit(SKIPPED)

sys.path[:0] = [os.environ["PYTHONPATH"], str(EXAMPLES)]
import torch  # noqa: E402

import capstan_ps  # noqa: E402
import two_tower  # noqa: E402
from python_crew import PythonCrew  # noqa: E402

LIKED = 4  # Of five stars.
FIRST = 10


def liked(name):
    """(user, item) of the ratings that say so."""
    with gzip.open(RATINGS / name, "rt", encoding="ascii") as lines:
        ratings = [list(map(int, line.split()[:3])) for line in lines]
    return [(user, item) for user, item, stars in ratings if stars >= LIKED]


def recall(users, items, known, wanted):
    """The mean over people: how much of what one liked later is among the first ten that one had not liked before. `users`, `items`:
    vectors by id."""
    found = []
    for user, later in wanted.items():
        scores = items @ users[user]
        scores[list(known[user])] = -math.inf
        found.append(len(later & set(scores.topk(FIRST).indices.tolist())) / min(FIRST, len(later)))
    return sum(found) / len(found)


class Plain(torch.nn.Module):
    """two_tower.py's model without Capstan: its collection is a table each for users and items."""

    def __init__(self, users, items):
        super().__init__()
        self.tables = torch.nn.ModuleDict({"user": torch.nn.Embedding(users, 32), "item": torch.nn.Embedding(items, 32)})
        for table in self.tables.values():
            torch.nn.init.normal_(table.weight, std=0.1)
        self.user, self.item = torch.nn.Linear(32, 32), torch.nn.Linear(32, 32)

    def forward(self, users, items):
        return [torch.nn.functional.normalize(tower(self.tables[name](ids)))
                for name, tower, ids in (("user", self.user, users), ("item", self.item, items))]


class TwoTowerTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.train = liked("u1.base.gz")
        cls.known, cls.wanted = collections.defaultdict(set), collections.defaultdict(set)
        for user, item in cls.train:
            cls.known[user].add(item)
        for user, item in liked("u1.test.gz"):
            if user in cls.known:
                cls.wanted[user].add(item)
        counts = collections.Counter(item for _, item in cls.train)
        cls.log_share = {item: math.log(count / len(cls.train)) for item, count in counts.items()}
        cls.users = 1 + max(user for user, _ in cls.train)
        cls.items = 1 + max(max(items) for items in [*cls.known.values(), *cls.wanted.values()])

    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="capstan-two-tower-")
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        os.environ["CAPSTAN"] = str(BINARIES / "capstan")

    def job(self):
        lines = ["liked,user,item,log_share", *(f"1,{user},{item},{self.log_share[item]:.6f}" for user, item in self.train),
                 f"1,,{self.train[0][1]},0", f"1,{self.train[0][0]},,0"]  # Of nobody, and of nothing.
        (self.folder / "train.csv").write_text("\n".join(lines) + "\n")
        text = re.sub(r"\S+/train\.csv", str(self.folder / "train.csv"), (EXAMPLES / "two_tower.yaml").read_text())
        # One task, so that batches are drawn from all records, as the plain model's are: who is beside whom in a batch matters here.
        text = text.replace("  header: true\n", "  header: true\n  task_bytes: 8MiB\n")
        # In rounds of one batch: the same model at every run.
        return text + "update: {sparse: {policy: sync, lanes: 1}, dense: {policy: sync, lanes: 1}}\nworker_lease: 2s\nheartbeat: 200ms\n"

    def plain_recall(self, seed):
        torch.manual_seed(seed)
        torch.set_num_threads(1)
        model = Plain(self.users, self.items)
        optimizers = [torch.optim.Adagrad(model.tables.parameters(), lr=0.1, initial_accumulator_value=0.1),
                      torch.optim.Adam([*model.user.parameters(), *model.item.parameters()], lr=0.002)]
        users, items = torch.tensor(self.train).T
        shares = torch.tensor([self.log_share[int(item)] for item in items])
        for _ in range(12):
            for chosen in torch.randperm(len(users)).split(256):
                a, b = model(users[chosen], items[chosen])
                liked = two_tower.same(users[chosen]) | two_tower.same(items[chosen])
                logits = (a @ b.T / two_tower.TEMPERATURE - shares[chosen]).masked_fill(liked.fill_diagonal_(False), -math.inf)
                for optimizer in optimizers:
                    optimizer.zero_grad()
                torch.nn.functional.cross_entropy(logits, torch.arange(len(chosen))).backward()
                for optimizer in optimizers:
                    optimizer.step()
        with torch.no_grad():
            of_users, of_items = model(torch.arange(self.users), torch.arange(self.items))
        return recall(of_users, of_items, self.known, self.wanted)

    def vectors(self, model, count, column):
        """Of all users (0), or all items (1), by id."""
        net = model.torch(two_tower.TwoTower)
        lines = [f"1,{i if column == 0 else 0},{i if column == 1 else 0},0" for i in range(count)]
        with torch.no_grad():
            return net(model.batch(lines))[column]

    def test_it_finds_what_plain_pytorch_finds(self):
        with PythonCrew(self.job(), example="two_tower", workers=2, name="two-tower") as crew:
            crew.wait()
            model = capstan_ps.load(crew.manifest().parent)
        found = recall(self.vectors(model, self.users, 0), self.vectors(model, self.items, 1), self.known, self.wanted)
        plain = [self.plain_recall(seed) for seed in (1, 2)]
        print(f"recall@{FIRST} {found:.4f}, plain {', '.join(f'{one:.4f}' for one in plain)}")
        self.assertGreater(found, sum(plain) / len(plain) - 0.005)


if __name__ == "__main__":
    unittest.main(verbosity=2)
