"""Data of fourteen kinds as strangers bring it, each trained by `capstan train` with a job of keys that docs/job-yaml.md tells of,
reaches what scikit-learn reaches on the same bytes; strangers/README.md tells of each kind.

Where scikit-learn can be imported, its numbers are not taken from strangers/reference.json but measured again."""

import csv
import json
import math
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent / "strangers"
sys.path.insert(0, str(HERE))
import generate
from auc import auc

PYTHON = "/usr/bin/python3"
CAPSTAN = pathlib.Path(os.environ["CAPSTAN_BIN"]) / "capstan"
REFERENCE = json.loads((HERE / "reference.json").read_text())["kinds"]

# By how much a kind may be worse than its reference. AUC and accuracy: a difference; RMSE and logloss: a part of it.
BOUNDS = {
    "sparse_text": 0.005,
    "click_log": 0.005,
    "sampled": 0.01,
    "visits": 0.005,
    "orders": 0.01,
    "census": 0.005,
    "pairs": 0.05,  # Of what nobody can exceed, with 75 records a user.
    "ratings": -0.05,  # Ridge does not know which user likes which genre.
    "regression": 0.01,
    "images": 0.01,
    "classes": 0.01,
    "fraud": 0.01,
    "sessions": 0.005,
    "series": 0.01,
}


def measured_again(kind, folder):
    """The references' values by the scikit-learn of this machine; none without it."""
    try:
        import reference
    except ImportError:
        return []
    return [value(folder) for _, _, value in reference.REFERENCES[kind]]


def auc_within(groups):
    """The mean of the AUCs of groups (scores, labels), each weighted by its records."""
    both = [(scores, labels) for scores, labels in groups if len(set(labels)) == 2]
    return sum(len(labels) * auc(scores, labels) for scores, labels in both) / sum(len(labels) for _, labels in both)


class StrangersTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        scratch = tempfile.TemporaryDirectory(prefix="capstan-strangers-kinds-")
        cls.addClassCleanup(scratch.cleanup)
        cls.kinds = pathlib.Path(scratch.name)
        cls.trained = {}  # Kind: the last evaluation of its own job.

    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="capstan-strangers-")
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def data_of(self, kind):
        """The folder of its data, which are made once and changed by nobody."""
        made = self.kinds / "data" / kind
        if not made.exists():
            generate.generate(kind, made)
        return made

    def lay(self, kind):
        """Its data and its job into the folder of the test."""
        shutil.copytree(self.data_of(kind), self.folder, dirs_exist_ok=True)
        shutil.copy(HERE / "jobs" / f"{kind}.yaml", self.folder / "job.yaml")

    def train_as_it_is(self, kind):
        """The last evaluation of its own job on its own data. Tests that ask for the same one find it in the same folder."""
        self.folder = self.kinds / "trained" / kind
        if kind not in self.trained:
            shutil.rmtree(self.folder, ignore_errors=True)
            self.lay(kind)
            begin = time.monotonic()
            self.trained[kind] = self.train()
            print(f"{kind}: {time.monotonic() - begin:.1f} s")
        return self.trained[kind]

    def train(self, *more):
        """The last evaluation of each set of held-out records, and of each label: {name, "" of the first: {metric: value}}."""
        done = subprocess.run([CAPSTAN, "train", "job.yaml", "--plain", "--shards", "2", "--workers", "2", "--run-dir", "run", *more],
                              cwd=self.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=240)
        self.assertEqual(done.returncode, 0, done.stdout[-3000:])
        return self.evaluations()[-1]

    def evaluations(self):
        """Of each evaluation of the job the same, in their order."""
        found = {}
        with open(self.model() / "curve.csv", encoding="utf-8") as lines:
            for point in csv.DictReader(lines):
                if point["evaluation"]:
                    found.setdefault(int(point["evaluation"]), {})[point["eval_set"]] = {
                        name.removeprefix("eval_"): float(value) for name, value in point.items()
                        if name.startswith("eval_") and name != "eval_set" and value}
        return [found[number] for number in sorted(found)]

    def model(self):
        (model,) = self.folder.glob("run/model/*")
        return model

    def assert_tells_auc(self, text, scope, value):
        """In text the scope's AUC stands behind its name. `value` has the six digits of curve.csv: rounded again, its fourth may be
        another than that of the figure which the command rounded once."""
        told = re.search(rf"\b{scope}  AUC (0\.\d{{4}})\b", text)
        self.assertIsNotNone(told, text)
        self.assertAlmostEqual(float(told.group(1)), value, delta=6e-5)

    def check(self, kind):
        data = self.data_of(kind)
        self.assertEqual(generate.digest(data), REFERENCE[kind]["data"],
                         "generate.py makes other data than reference.json was measured with: run reference.py")
        references = [dict(one) for one in REFERENCE[kind]["references"]]
        for expected, again in zip(references, measured_again(kind, data)):
            self.assertAlmostEqual(again, expected["value"], delta=0.002, msg="run reference.py")
            expected["value"] = again
        told = self.train_as_it_is(kind)
        for expected in references:
            self.check_metric(kind, told, **expected)

    def check_metric(self, kind, told, metric, model, value):
        """`told` is not worse than the value of this reference by more than the kind's bound."""
        scope, _, name = metric.rpartition("/")
        found = told[scope][name]
        less_is_better = name in ("rmse", "logloss")
        bar = value * (1 + BOUNDS[kind]) if less_is_better else value - BOUNDS[kind]
        print(f"{kind}: {metric} {found:.4f}, {model} {value:.4f}, bar {bar:.4f}", flush=True)
        if less_is_better:
            self.assertLessEqual(found, bar)
        else:
            self.assertGreaterEqual(found, bar)

    def test_the_group_auc_of_pairs_is_that_of_the_scores_that_are_written(self):
        metrics = self.train_as_it_is("pairs")[""]
        subprocess.run([CAPSTAN, "predict", self.model(), "test.csv", "--output", "scores.csv"], cwd=self.folder, check=True)
        groups = {}
        with open(self.folder / "test.csv", encoding="utf-8") as records, open(self.folder / "scores.csv", encoding="utf-8") as scores:
            for (user, _, label), score in zip(csv.reader(records), scores, strict=True):
                scores_of, labels_of = groups.setdefault(user, ([], []))
                scores_of.append(float(score))
                labels_of.append(int(label))
        self.assertAlmostEqual(metrics["group_auc"], auc_within(groups.values()), delta=1e-4)
        self.assertLess(metrics["group_auc"], metrics["auc"], "users differ in how much they like, too")

    def test_each_of_several_labels_is_scored_in_a_column_of_its_own(self):
        told = self.train_as_it_is("visits")
        with open(self.folder / "test.csv", encoding="utf-8") as lines:
            records = list(csv.DictReader(lines))
        without = [name for name in records[0] if name not in ("clicked", "bought")]
        with open(self.folder / "new.csv", "w", encoding="utf-8", newline="") as lines:
            writer = csv.DictWriter(lines, without, extrasaction="ignore")
            writer.writeheader()
            writer.writerows(records)
        exported = self.folder / "exported"
        subprocess.run([CAPSTAN, "checkpoint", "export", self.model(), exported, "--python"], check=True, stdout=subprocess.DEVNULL)
        commands = [[CAPSTAN, "predict", self.model()], [PYTHON, exported / "score.py"]]
        for command in commands:
            for file in ("test.csv", "new.csv"):
                written = subprocess.run([*command, file], cwd=self.folder, check=True, stdout=subprocess.PIPE, text=True).stdout
                scores = [[float(score) for score in line.split(",")] for line in written.splitlines()]
                for place, (scope, label) in enumerate((("", "clicked"), ("buy", "bought"))):
                    found = auc([score[place] for score in scores], [int(record[label]) for record in records])
                    self.assertAlmostEqual(found, told[scope]["auc"], delta=2e-4, msg=f"{command[0]} {file} {label}")
        said = subprocess.run([CAPSTAN, "evaluate", self.model()], cwd=self.folder, check=True, stdout=subprocess.PIPE, text=True).stdout
        self.assert_tells_auc(said, "12,000 examples", told[""]["auc"])
        self.assert_tells_auc(said, "buy", told["buy"]["auc"])

    def test_labels_of_both_losses_are_scored_as_they_are_measured(self):
        self.lay("orders")
        self.train("--set", "train.early_stop={metric: amount/mae}")
        told = min(self.evaluations(), key=lambda scopes: scopes["amount"]["mae"])  # The result is the best model.
        self.assertEqual(set(told[""]), {"loss", "auc", "logloss", "accuracy", "calibration"})
        self.assertEqual(set(told["amount"]), {"loss", "rmse", "mae"})
        with open(self.folder / "test.csv", encoding="utf-8") as lines:
            records = list(csv.DictReader(lines))
        exported = self.folder / "exported"
        subprocess.run([CAPSTAN, "checkpoint", "export", self.model(), exported, "--python"], check=True, stdout=subprocess.DEVNULL)
        for command in ([CAPSTAN, "predict", self.model()], [PYTHON, exported / "score.py"]):
            written = subprocess.run([*command, "test.csv"], cwd=self.folder, check=True, stdout=subprocess.PIPE, text=True).stdout
            scores = [[float(score) for score in line.split(",")] for line in written.splitlines()]
            self.assertTrue(all(0 < bought < 1 for bought, _ in scores), "probabilities")
            self.assertAlmostEqual(auc([bought for bought, _ in scores], [int(record["bought"]) for record in records]), told[""]["auc"], delta=2e-4)
            errors = [amount - float(record["amount"]) for (_, amount), record in zip(scores, records, strict=True) if record["amount"]]
            self.assertAlmostEqual(math.sqrt(sum(error * error for error in errors) / len(errors)), told["amount"]["rmse"], delta=1e-4)
            self.assertAlmostEqual(sum(map(abs, errors)) / len(errors), told["amount"]["mae"], delta=1e-4)
        said = subprocess.run([CAPSTAN, "evaluate", self.model()], cwd=self.folder, check=True, stdout=subprocess.PIPE, text=True).stdout
        self.assert_tells_auc(said, "12,000 examples", told[""]["auc"])
        found = re.search(r"(?m)^amount  RMSE (\S+)  MAE (\S+)$", said)
        self.assertIsNotNone(found, said)
        self.assertAlmostEqual(float(found[1]), told["amount"]["rmse"], delta=6e-5)
        self.assertAlmostEqual(float(found[2]), told["amount"]["mae"], delta=6e-5)

    def test_a_label_that_some_records_lack_is_learned_from_those_that_have_it(self):
        self.lay("visits")
        for file in ("train.csv", "test.csv"):
            with open(self.folder / file, encoding="utf-8") as lines:
                records = list(csv.DictReader(lines))
            for place, record in enumerate(records):
                if place % 2 == 1:
                    record["bought"] = ""
            with open(self.folder / file, "w", encoding="utf-8", newline="") as lines:
                writer = csv.DictWriter(lines, records[0])
                writer.writeheader()
                writer.writerows(records)
        told = self.train("--set", "data.schema.labels.buy.optional=true")
        written = subprocess.run([CAPSTAN, "predict", self.model(), "test.csv"], cwd=self.folder, check=True, stdout=subprocess.PIPE, text=True).stdout
        scores = [float(line.split(",")[1]) for line in written.splitlines()]
        known = [(score, int(record["bought"])) for score, record in zip(scores, records, strict=True) if record["bought"]]
        self.assertEqual(len(known), len(records) // 2)
        self.assertAlmostEqual(auc(*zip(*known, strict=True)), told["buy"]["auc"], delta=2e-4)
        self.assertGreater(told["buy"]["auc"], 0.6)
        self.assertGreater(told[""]["auc"], 0.6)

    def test_records_that_are_only_scored_need_no_weight(self):
        self.lay("sampled")
        self.train("--set", "train.epochs=1")
        with open(self.folder / "test.csv", encoding="utf-8") as lines:
            records = list(csv.DictReader(lines))[:100]
        with open(self.folder / "new.csv", "w", encoding="utf-8", newline="") as lines:
            writer = csv.DictWriter(lines, records[0].keys())
            writer.writeheader()
            writer.writerows({**record, "clicked": "", "weight": ""} for record in records)
        scored = subprocess.run([CAPSTAN, "predict", self.model(), "new.csv"], cwd=self.folder, check=True, stdout=subprocess.PIPE, text=True)
        self.assertEqual(len(scored.stdout.splitlines()), 100)

    def test_sets_of_held_out_records_are_measured_apart(self):
        self.lay("sessions")
        records = (self.folder / "test.tsv").read_text().splitlines(keepends=True)
        (self.folder / "late.tsv").write_text("".join(records[-500:]))
        sets = self.train("--set", "data.eval={all: test.tsv, late: late.tsv}")
        self.assertEqual(set(sets), {"", "late"})
        said = subprocess.run([CAPSTAN, "evaluate", self.model()], cwd=self.folder, check=True, stdout=subprocess.PIPE, text=True).stdout
        lines = {line.split()[0]: line for line in said.splitlines()}
        for name, shown, examples in (("", "all", len(records)), ("late", "late", 500)):
            self.assert_tells_auc(lines[shown], f"{examples:,} examples", sets[name]["auc"])
        self.assertNotEqual(sets[""]["auc"], sets["late"]["auc"])
        status = subprocess.run([CAPSTAN, "status", self.model()], cwd=self.folder, check=True, stdout=subprocess.PIPE, text=True).stdout
        self.assert_tells_auc(status, "late", sets["late"]["auc"])

    def test_every_kind_has_a_job_a_reference_a_bound_and_a_line_in_the_readme(self):
        jobs = {file.stem for file in (HERE / "jobs").glob("*.yaml")}
        described = set(re.findall(r"^\| `(\w+)` \|", (HERE / "README.md").read_text(), re.MULTILINE))
        for names in (jobs, set(REFERENCE), set(BOUNDS), described):
            self.assertEqual(names, set(generate.KINDS))


def test_of(kind):
    return lambda self: self.check(kind)


for _kind in generate.KINDS:
    setattr(StrangersTest, f"test_{_kind}", test_of(_kind))


if __name__ == "__main__":
    unittest.main(verbosity=2)
