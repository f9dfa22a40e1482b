"""A program of several labels: real processes on loopback, beside plain PyTorch on the same records."""

import csv
import os
import pathlib
import re
import shutil
import sys
import tempfile
import unittest

from python_data import EXAMPLES, ROOT, SYNC, skip_if_lacking

if __name__ == "__main__":
    skip_if_lacking()

sys.path[:0] = [os.environ["PYTHONPATH"], str(EXAMPLES), str(ROOT / "tests/e2e/strangers")]

import generate  # noqa: E402
import torch  # noqa: E402

import capstan_ps  # noqa: E402
from auc import auc  # noqa: E402
from crew import BINARIES, run_to_end  # noqa: E402
from python_crew import PythonCrew  # noqa: E402
from two_tasks import TwoTasks  # noqa: E402

# What the program says of a label: its loss is the one that the job has for it, and a label that is not there says nothing.
BUILD_AND_STEP = """def build(job):
    model = TwoTasks(job)
    model.labels = job.labels
    return model


def of_one(label, logits, labels):
    losses = {"logistic": nn.functional.binary_cross_entropy_with_logits, "squared": nn.functional.mse_loss}
    found = losses[label.loss](logits, labels.nan_to_num(), reduction="none")
    return label.weight * found.masked_fill(labels.isnan(), 0)


def step(model, batch):
    logits = model(batch)
    return torch.stack([of_one(label, logits[label.name], batch.labels[label.name]) for label in model.labels]).sum(0)


"""

COLUMNS = ("shop", "item", "campaign", "device")
LABELS = {"click": "clicked", "buy": "bought"}
ORDERS = ("shop", "item", "device")
# In rounds of one batch, and so the same model at every run.
ONE_LANE = "update: {sparse: {policy: sync, lanes: 1}, dense: {policy: sync, lanes: 1}}"
LONG_ENOUGH = 8  # Epochs of the orders after which another seed makes no difference.


class Plain(torch.nn.Module):
    """two_tasks.py's model without Capstan: embeddings of the values that the training data have."""

    def __init__(self, keys, columns=COLUMNS, labels=LABELS):
        super().__init__()
        self.embeddings = torch.nn.Embedding(keys, 8)
        torch.nn.init.normal_(self.embeddings.weight, std=0.01)
        self.shared = torch.nn.Sequential(torch.nn.Linear(8 * len(columns), 32), torch.nn.ReLU())
        self.heads = torch.nn.ModuleDict({name: torch.nn.Linear(32, 1) for name in labels})

    def forward(self, keys):
        shared = self.shared(self.embeddings(keys).flatten(1))
        return {name: head(shared).squeeze(1) for name, head in self.heads.items()}


class LabelsTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory(prefix="capstan-labels-data-")
        cls.addClassCleanup(scratch.cleanup)
        cls.made = pathlib.Path(scratch.name)
        for kind in ("visits", "orders"):
            generate.generate(kind, cls.made / kind)

    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="capstan-labels-")
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        self.lay("visits")
        os.environ["CAPSTAN"] = str(BINARIES / "capstan")

    def lay(self, kind):
        """The files of a kind of data into the folder of the test, which may change them."""
        shutil.copytree(self.made / kind, self.folder, dirs_exist_ok=True)

    def job(self, update=""):
        text = (EXAMPLES / "two_tasks.yaml").read_text()
        text = re.sub(r"\S+/(train|test)\.csv", lambda file: str(self.folder / file[0].rpartition("/")[2]), text)
        return f"{text}worker_lease: 2s\nheartbeat: 200ms\n{update}"

    def read(self, name, places, columns=COLUMNS, labels=LABELS):
        """Of a file: the places of the records' keys, and the labels by their names; one that is not there is NaN."""
        with open(self.folder / name, encoding="utf-8") as lines:
            records = list(csv.DictReader(lines))
        keys = [[places.setdefault((column, record[column]), len(places)) for column in columns] for record in records]
        return torch.tensor(keys), {name: torch.tensor([float(record[column] or "nan") for record in records]) for name, column in labels.items()}

    def plain(self, loss, columns=COLUMNS, labels=LABELS, seed=1, epochs=4):
        """What plain PyTorch gives for the held-out records, and their labels, with the same model, optimizers and number of steps.
        `loss` is that of each example, of logits and labels."""
        torch.manual_seed(seed)
        torch.set_num_threads(1)
        places = {}
        keys, known = self.read("train.csv", places, columns, labels)
        held_out, expected = self.read("test.csv", places, columns, labels)
        model = Plain(len(places), columns, labels)
        optimizers = [torch.optim.Adagrad(model.embeddings.parameters(), lr=0.05, initial_accumulator_value=0.1),
                      torch.optim.Adam([*model.shared.parameters(), *model.heads.parameters()], lr=0.002)]
        for _ in range(epochs):
            for chosen in torch.randperm(len(keys)).split(100):
                losses = loss(model(keys[chosen]), {name: all_of[chosen] for name, all_of in known.items()})
                for optimizer in optimizers:
                    optimizer.zero_grad()
                losses.mean().backward()
                for optimizer in optimizers:
                    optimizer.step()
        with torch.no_grad():
            return model(held_out), expected

    def plain_aucs(self):
        """By label."""
        def loss(logits, labels):
            click, buy = (torch.nn.functional.binary_cross_entropy_with_logits(logits[name], labels[name], reduction="none") for name in LABELS)
            return click + 2 * buy
        scores, expected = self.plain(loss)
        return {name: auc(scores[name].tolist(), expected[name].tolist()) for name in LABELS}

    def test_both_labels_are_learnt_as_plain_pytorch_learns_them(self):
        with PythonCrew(self.job(ONE_LANE), example="two_tasks", workers=2, name="visits") as crew:
            crew.wait()
            metrics = crew.last.evaluations[-1].metrics
            model = capstan_ps.load(crew.manifest().parent)
        plain = self.plain_aucs()
        print(f"click {metrics['auc']:.4f}, plain {plain['click']:.4f}; buy {metrics['buy/auc']:.4f}, plain {plain['buy']:.4f}")
        self.assertAlmostEqual(metrics["loss"], metrics["logloss"] + 2 * metrics["buy/logloss"], 9)
        self.assertGreater(metrics["auc"], plain["click"] - 0.005)
        self.assertGreater(metrics["buy/auc"], plain["buy"] - 0.005)
        self.assert_scores(model, {"click": metrics["auc"], "buy": metrics["buy/auc"]})

    def assert_scores(self, model, told):
        """The model outside of its job gives scores that have the AUCs which the job has told."""
        net = model.torch(TwoTasks)
        _, labels = self.read("test.csv", {})
        with torch.no_grad():
            batches = [net(batch) for batch in model.batches(self.folder / "test.csv")]
        for name, expected in told.items():
            scores = torch.cat([logits[name] for logits in batches]).tolist()
            self.assertAlmostEqual(auc(scores, labels[name].tolist()), expected, delta=2e-4, msg=name)

    def masking_program(self):
        """two_tasks.py with the losses that the job says, of the labels that are there."""
        text = (EXAMPLES / "two_tasks.py").read_text()
        begin, end = text.index("def step("), text.index("def predict(")
        program = self.folder / "two_tasks.py"
        program.write_text(text[:begin] + BUILD_AND_STEP + text[end:].replace("ct.train(TwoTasks", "ct.train(build"))
        return program

    def train_orders(self, labels, *flags, model=None, epochs=4):
        """The last evaluation of a job on the orders, by label."""
        job = re.sub(r"(?s)labels:.*device\]", f"labels: {labels}\n    categorical: [{', '.join(ORDERS)}]", self.job(ONE_LANE))
        job = job.replace("epochs: 4", f"epochs: {epochs}")
        (self.folder / "job.yaml").write_text(re.sub(r"model: .*", f"model: {model}", job) if model else job)
        code, said = run_to_end("capstan", "train", self.folder / "job.yaml", "--shards", "1", "--workers", "2", "--plain", "--fresh", "--run-dir",
                                self.folder / "run", *flags, timeout=120)
        self.assertEqual(code, 0, said)
        (kept,) = self.folder.glob("run/model/*")
        with open(kept / "curve.csv", encoding="utf-8") as lines:
            return {point["eval_set"]: point for point in csv.DictReader(lines) if point["evaluation"]}

    def lose_labels(self, name):
        """A third of the buyers are not known as such, and of a fifth of the others the amount is lost."""
        with open(self.folder / name, encoding="utf-8") as lines:
            records = list(csv.DictReader(lines))
        for place, record in enumerate(records):
            if record["amount"] and place % 3 == 0:
                record["bought"] = ""
            elif place % 5 == 1:
                record["amount"] = ""
        with open(self.folder / name, "w", encoding="utf-8", newline="") as out:
            writer = csv.DictWriter(out, records[0])
            writer.writeheader()
            writer.writerows(records)

    def plain_orders(self, seed, lacks=lambda label: label.isnan()):
        """The AUC of what plain PyTorch says of who bought, and the root of its mean squared error of amounts. `lacks`: which labels count
        for nothing."""
        def loss(logits, labels):
            bought = torch.nn.functional.binary_cross_entropy_with_logits(logits["bought"], labels["bought"].nan_to_num(), reduction="none")
            amount = torch.nn.functional.mse_loss(logits["amount"], labels["amount"].nan_to_num(), reduction="none")
            return bought.masked_fill(lacks(labels["bought"]), 0) + 0.5 * amount.masked_fill(lacks(labels["amount"]), 0)
        scores, expected = self.plain(loss, ORDERS, {"bought": "bought", "amount": "amount"}, seed, LONG_ENOUGH)
        there = {name: ~labels.isnan() for name, labels in expected.items()}
        squares = (scores["amount"] - expected["amount"])[there["amount"]].square()
        return auc(scores["bought"][there["bought"]].tolist(), expected["bought"][there["bought"]].tolist()), float(squares.mean().sqrt())

    def test_labels_that_records_lack_cost_as_little_as_in_plain_pytorch_that_masks_them(self):
        self.lay("orders")
        for name in ("train.csv", "test.csv"):
            self.lose_labels(name)
        plain = [self.plain_orders(seed) for seed in (1, 2)]
        expected_auc, expected_rmse = (sum(values) / len(values) for values in zip(*plain))
        unmasked_auc, unmasked_rmse = self.plain_orders(1, lacks=lambda label: torch.zeros_like(label, dtype=torch.bool))
        labels = "{bought: {column: bought, optional: true}, amount: {column: amount, loss: squared, weight: 0.5, optional: true}}"
        of_program = self.train_orders(labels, "--worker", f"/usr/bin/python3 {self.masking_program()}", epochs=LONG_ENOUGH)
        of_towers = self.train_orders(labels, model="{towers: [{kind: mlp, hidden: [32]}], embedding_dim: 8}", epochs=LONG_ENOUGH)
        print(f"plain: AUC {expected_auc:.4f}, RMSE {expected_rmse:.4f}; without masks {unmasked_auc:.4f}, {unmasked_rmse:.4f}")
        for whose, last in (("program", of_program), ("towers", of_towers)):
            found_auc, found_rmse = float(last[""]["eval_auc"]), float(last["amount"]["eval_rmse"])
            print(f"{whose}: AUC {found_auc:.4f}, RMSE {found_rmse:.4f}")
            self.assertGreater(found_auc, expected_auc - 0.005, whose)
            self.assertLess(found_rmse, 1.005 * expected_rmse, whose)
        self.assertGreater(unmasked_rmse, 1.1 * expected_rmse, "what masks are for")

    def test_a_program_is_told_the_loss_of_each_label_which_is_measured_by_it(self):
        self.lay("orders")
        labels = "{bought: {column: bought}, amount: {column: amount, loss: squared, weight: 0.5, optional: true}}"
        last = self.train_orders(labels, "--worker", f"/usr/bin/python3 {self.masking_program()}")
        print(f"bought {last['']['eval_auc']}, amount {last['amount']['eval_rmse']}, {last['amount']['eval_mae']}")
        self.assertGreater(float(last[""]["eval_auc"]), 0.62)
        self.assertLess(float(last["amount"]["eval_rmse"]), 1.4, "of amounts that deviate by 1.76")
        self.assertLess(float(last["amount"]["eval_mae"]), float(last["amount"]["eval_rmse"]))
        self.assertEqual(last["amount"]["eval_auc"], "")

    def test_bits_do_not_depend_on_the_number_of_workers(self):
        models = []
        job = self.job(SYNC).replace("epochs: 4", "epochs: 1")
        for workers in (1, 3):
            with PythonCrew(job, example="two_tasks", workers=workers, name=f"of-{workers}") as crew:
                crew.wait()
                models.append(self.kept(crew, f"model-{workers}"))
        code, said = run_to_end("capstan", "checkpoint", "diff", *models)
        self.assertEqual(code, 0, said)
        parts = [line.split() for line in said.splitlines()[1:]]
        self.assertIn("heads.buy.weight", [part[0] for part in parts])
        for part in parts:
            self.assertEqual(part[3:7], ["0", "0", "0", "0"], said)

    def kept(self, crew, name):
        return crew.manifest().parent.rename(self.folder / name)

    def test_who_gives_no_logits_of_a_label_is_told_so(self):
        program = self.folder / "two_tasks.py"
        program.write_text((EXAMPLES / "two_tasks.py").read_text().replace("    return model(batch)\n\n\nif", '    return {"click": model(batch)["click"]}\n\n\nif'))
        (self.folder / "job.yaml").write_text(self.job().replace("epochs: 4", "epochs: 1"))
        code, said = run_to_end("capstan", "train", self.folder / "job.yaml", "--shards", "1", "--workers", "1", "--plain", "--run-dir",
                                self.folder / "run", "--worker", f"/usr/bin/python3 {program}", timeout=120)
        self.assertNotEqual(code, 0, said)
        self.assertIn("predict gives the logits of click, buy, by name, and gave of click", said)


if __name__ == "__main__":
    unittest.main(verbosity=2)
