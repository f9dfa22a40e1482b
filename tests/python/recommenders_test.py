"""Recommenders on real data, each beside the same model in plain PyTorch: MovieLens-100K with what else people have rated, Criteo with a
table of its own width for each column, Frappe by the names of its columns, Avazu by the texts of its columns, from Parquet."""

import array
import csv
import gzip
import math
import os
import pathlib
import random
import sys
import tempfile
import types
import unittest

from python_data import ROOT, SKIPPED, skip_if_lacking

from crew import DATA  # noqa: E402

if __name__ == "__main__":
    skip_if_lacking()
    if not (DATA / "ml-100k").exists():
        print(f"SKIPPED: no real data in {DATA} (deploy/datasets makes it, or CAPSTAN_DATA names its folder)")
        sys.exit(SKIPPED)

sys.path[:0] = [os.environ["PYTHONPATH"], str(ROOT / "tests/e2e/strangers")]
import torch  # noqa: E402

import parquet_writer as parquet  # noqa: E402
import recommenders  # noqa: E402
from auc import auc  # noqa: E402
from capstan_ps.torch import Pooled  # noqa: E402
from python_crew import PythonCrew  # noqa: E402

BEHIND = 0.005  # By which Capstan's model may be behind the plain one's.
MOST = 50       # Of what else somebody has rated.
MF_RMSE = 0.935  # Of matrix factorization on the same split, which knows nothing of what else was rated.
SMALLEST, LARGEST = 4, 16  # Width of a column's rows, which grows with the number of its values.
CONTEXT = ["user", "item", "daytime", "weekday", "weekend", "homework", "cost", "weather", "country", "city"]  # Frappe's columns.
JOB = """
job: {name}
data:
  {format}
  train: {folder}/train{suffix}
  eval: {folder}/test{suffix}
  schema: {{label: label}}
  features: {{{features}}}
  task_bytes: 256KiB
tables: {{{tables}}}
model: {{user: recommenders.py, loss: {loss}, embedding_stddev: {deviation}}}
optimizer:
  sparse: {{kind: adagrad, learning_rate: {rate}, initial_accumulator: {accumulator}}}
  dense: {{kind: adagrad, learning_rate: {dense_rate}, initial_accumulator: {accumulator}}}
update: {{sparse: {{policy: sync, lanes: 2}}, dense: {{policy: sync, lanes: 2}}}}
train: {{batch_size: {half}, epochs: {epochs}}}
worker_lease: 5s
heartbeat: 200ms
"""


def deflated(content):
    return gzip.compress(content, mtime=0)


class Set:
    """Records of a model: `train` and `test` are lists of (label, {feature: ids}). `texts`, {feature: [texts]}: what the ids stand for;
    then they are read as these texts, from Parquet."""

    def __init__(self, name, features, train, test, texts=None, **how):
        self.texts = texts
        self.name, self.features, self.train, self.test = name, features, train, test  # {feature: width of its rows}
        self.how = {"loss": "logistic", "deviation": 0.05, "rate": 0.05, "dense_rate": 0.05, "accumulator": 0.1, "batch": 100,
                    "epochs": 2, **how}

    def many(self, feature):
        return feature == "others"

    def write(self, folder):
        for split in ("train", "test"):
            if self.texts:
                self.write_parquet(folder / f"{split}.parquet", getattr(self, split))
                continue
            with open(folder / f"{split}.csv", "w", encoding="ascii", newline="") as file:
                out = csv.writer(file, lineterminator="\n")
                out.writerow(["label", *self.features])
                for label, ids in getattr(self, split):
                    out.writerow([label, *("|".join(map(str, ids[name])) for name in self.features)])

    def write_parquet(self, path, records):
        columns = [parquet.Column("label", "int64", [label for label, _ in records])]
        for name, texts in self.texts.items():
            places = array.array("H", [ids[name][0] for _, ids in records])
            columns.append(parquet.Column(name, "text", places=places, dictionary=texts))
        parquet.write(path, columns, rows_a_group=500, compress=deflated, codec=parquet.GZIP)

    def job(self, folder):
        kind = "hash" if self.texts else "id"
        features = ", ".join(f"{name}: {{column: {name}, kind: {kind}{', many: true, pooling: mean' if self.many(name) else ''}}}"
                             for name in self.features)
        of_files = {"format": "format: parquet", "suffix": ".parquet"} if self.texts else {
            "format": "format: csv\n  header: true", "suffix": ".csv"}
        return JOB.format(name=self.name, folder=folder, features=features, half=self.how["batch"] // 2, **of_files,
                          tables=", ".join(f"{name}: {{dim: {dim}}}" for name, dim in self.features.items()), **self.how)


class Tables(torch.nn.Module):
    """Plain tables in the place of Capstan's collection."""

    def __init__(self, of):
        super().__init__()
        self.names, self.width = list(of.features), sum(of.features.values())
        counts = {name: 1 + max(max(ids[name], default=0) for _, ids in [*of.train, *of.test]) for name in self.names}
        self.tables = torch.nn.ModuleDict({
            name: torch.nn.EmbeddingBag(counts[name], dim, mode="mean" if of.many(name) else "sum", sparse=True)
            for name, dim in of.features.items()})
        for table in self.tables.values():
            torch.nn.init.normal_(table.weight, std=of.how["deviation"])

    def forward(self, batch):
        return Pooled({name: self.tables[name](*batch.ids[name]) for name in self.names})


def plain_batch(of, records):
    ids = {}
    for name in of.features:
        bags = [record[1][name] for record in records]
        offsets = [0]
        for bag in bags[:-1]:
            offsets.append(offsets[-1] + len(bag))
        ids[name] = (torch.tensor([one for bag in bags for one in bag], dtype=torch.long), torch.tensor(offsets))
    return types.SimpleNamespace(ids=ids, labels=torch.tensor([float(record[0]) for record in records]))


def plain(of):
    """Logits of the test records by the model that plain PyTorch has trained."""
    torch.manual_seed(1)
    torch.set_num_threads(1)
    tables = Tables(of)
    model = recommenders.MODELS[of.name](tables)
    dense = [parameter for name, parameter in model.named_parameters() if not name.startswith("embeddings.")]
    optimizers = [torch.optim.Adagrad(parameters, lr=of.how[rate], initial_accumulator_value=of.how["accumulator"])
                  for parameters, rate in ((tables.parameters(), "rate"), (dense, "dense_rate"))]
    for epoch in range(of.how["epochs"]):
        order = list(of.train)
        random.Random(epoch).shuffle(order)
        for begin in range(0, len(order), of.how["batch"]):
            for optimizer in optimizers:
                optimizer.zero_grad()
            model.losses(plain_batch(of, order[begin:begin + of.how["batch"]])).mean().backward()
            for optimizer in optimizers:
                optimizer.step()
    with torch.no_grad():
        return model(plain_batch(of, of.test))


def ratings():
    def read(name):
        with gzip.open(DATA / "ml-100k" / name, "rt", encoding="ascii") as lines:
            return [tuple(map(int, line.split()[:3])) for line in lines]

    draw = random.Random(1)
    train, test = read("u1.base.gz"), read("u1.test.gz")
    rated = {}
    for user, item, _ in train:
        rated.setdefault(user, []).append(item)

    def records(of):
        for user, item, stars in of:
            others = [other for other in rated.get(user, []) if other != item]
            yield stars, {"user": [user], "item": [item], "others": draw.sample(others, MOST) if len(others) > MOST else others}

    return Set("ratings", {"user": 17, "item": 17, "others": 16}, list(records(train)), list(records(test)), loss="squared",
               accumulator=0.0001, rate=0.07, dense_rate=0.07, batch=200, epochs=6)


def clicks():
    def read(name):
        with gzip.open(DATA / "criteo" / name, "rt", encoding="ascii") as lines:
            for line in lines:
                label, *cells = map(int, line.split(","))
                yield label, {f"c{i}": [value] for i, value in enumerate(cells)}

    train, test = list(read("train.csv.gz")), list(read("test.csv.gz"))
    values = {name: len({ids[name][0] for _, ids in train}) for name in train[0][1]}
    widths = {name: min(LARGEST, max(SMALLEST, 2 * round(math.log2(count)))) for name, count in values.items()}
    return Set("clicks", widths, train, test, deviation=0.01, rate=0.02, dense_rate=0.005, accumulator=0.0001, batch=50)


def apps():
    def read(name):
        with gzip.open(DATA / "frappe" / name, "rt", encoding="ascii") as lines:
            for line in lines:
                label, *pairs = line.split()
                yield int(label == "1"), {column: [int(pair.partition(":")[0])] for column, pair in zip(CONTEXT, pairs)}

    return Set("apps", {name: 11 for name in CONTEXT}, list(read("train.libfm.gz")), list(read("test.libfm.gz")), deviation=0.1,
               rate=0.2, dense_rate=0.2, accumulator=0.0001, batch=200, epochs=6)


def ads():
    """Of Avazu's ads: every third record is held out, in the order of the file, which is that of time. Who sees an ad is left out: his
    address is hardly ever seen again in so few records."""
    with gzip.open(DATA / "avazu/hour-3k.csv.gz", "rt", encoding="ascii") as lines:
        rows = list(csv.DictReader(lines))
    names = [name for name in rows[0] if name not in ("id", "click", "hour", "device_id", "device_ip")]
    known = {name: {} for name in names}
    records = [(int(row["click"]), {name: [known[name].setdefault(row[name].encode(), len(known[name]))] for name in names})
               for row in rows]
    widths = {name: min(LARGEST, max(SMALLEST, 2 * round(math.log2(len(known[name]))))) for name in names}
    return Set("ads", widths, [record for i, record in enumerate(records) if i % 3], records[::3],
               texts={name: list(known[name]) for name in names}, deviation=0.01, rate=0.02, dense_rate=0.005, accumulator=0.0001, batch=50)


class RecommendersTest(unittest.TestCase):

    def metrics(self, of):
        scratch = tempfile.TemporaryDirectory(prefix="capstan-recommenders-")
        self.addCleanup(scratch.cleanup)
        folder = pathlib.Path(scratch.name)
        of.write(folder)
        with PythonCrew(of.job(folder), example="recommenders", workers=2, name=of.name) as crew:
            crew.wait(300)
            return dict(crew.last.evaluations[-1].metrics)

    def check_auc(self, of, least):
        ours, theirs = self.metrics(of)["auc"], auc(plain(of).tolist(), [record[0] for record in of.test])
        print(f"{of.name}: auc {ours:.4f}, plain PyTorch {theirs:.4f}", flush=True)
        self.assertGreater(theirs, least)
        self.assertGreater(ours, theirs - BEHIND)

    def test_what_else_people_have_rated_beats_matrix_factorization_as_in_plain_pytorch(self):
        of = ratings()
        ours = self.metrics(of)["rmse"]
        theirs = math.sqrt(float(((plain(of) - torch.tensor([float(record[0]) for record in of.test])) ** 2).mean()))
        print(f"ratings: rmse {ours:.4f}, plain PyTorch {theirs:.4f}", flush=True)
        self.assertLess(ours, MF_RMSE - BEHIND)
        self.assertLess(ours, theirs + BEHIND)

    def test_a_table_of_its_own_width_for_each_column_clicks_as_in_plain_pytorch(self):
        of = clicks()
        self.assertGreater(len(set(of.features.values())), 3, "widths differ")
        self.check_auc(of, least=0.734)

    def test_columns_by_their_names_find_apps_as_in_plain_pytorch(self):
        self.check_auc(apps(), least=0.942)

    def test_texts_from_parquet_click_ads_as_in_plain_pytorch(self):
        self.check_auc(ads(), least=0.85)


if __name__ == "__main__":
    unittest.main(verbosity=2)
