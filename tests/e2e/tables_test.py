"""Tables as strangers have them: a line of names, labels that are texts, a price in its own unit."""

import math
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from crew import BINARIES, Crew, run_to_end, view_pb2

EDUCATIONS = ["9th", "HS-grad", "Some-college", "Bachelors", "Masters"]
WORK = ["Private", "Self-emp", "State-gov"]


def census(seed, rows):
    """Lines as a census would have them; the income depends on age, education and hours."""
    draw = random.Random(seed)
    lines = []
    for _ in range(rows):
        age, hours, level = draw.randint(17, 90), draw.randint(5, 80), draw.randrange(5)
        weight = draw.randint(12_000, 1_400_000)
        score = 0.06 * (age - 40) + 0.9 * (level - 2) + 0.05 * (hours - 40) - 1
        rich = draw.random() < 1 / (1 + math.exp(-score))
        lines.append(f"{age}, {draw.choice(WORK)}, {weight}, {EDUCATIONS[level]}, {hours}, "
                     f"{'>50K' if rich else '<=50K'}\n")
    return lines


CENSUS_NAMES = "age, workclass, fnlwgt, education, hours, income\n"
CENSUS = """
job: census
data:
  format: csv
  header: true
  train: train.csv
  eval: test.csv
  schema:
    label: income
    positive: ">50K"
    categorical: [workclass, education]
    numeric: {columns: [age, fnlwgt, hours], transform: standard}
model: {towers: [{kind: linear}, {kind: mlp, hidden: []}], loss: logistic}
optimizer:
  sparse: {kind: adagrad, learning_rate: 0.2}
  dense: {kind: adam, learning_rate: 0.02}
update: {sparse: {policy: sync, lanes: 2}, dense: {policy: sync, lanes: 2}}
train: {batch_size: 100, epochs: 3}
"""


def prices(seed, rows):
    """(features, price): a line through units of very different sizes, with noise."""
    draw = random.Random(seed)
    records = []
    for _ in range(rows):
        carat, depth, table = draw.uniform(0.2, 3), draw.uniform(50, 70), draw.uniform(5000, 9000)
        price = 4000 * carat - 60 * depth + 0.5 * table + 1500 + draw.gauss(0, 500)
        records.append(((carat, depth, table), price))
    return records


PRICES = """
job: prices
data:
  format: csv
  header: true
  train: train.csv
  eval: test.csv
  schema:
    label: price
    numeric: {columns: [carat, depth, table], transform: standard}
  label_transform: standard
model: {towers: [{kind: mlp, hidden: []}], loss: squared}
optimizer: {dense: {kind: adam, learning_rate: 0.01}}
update: {dense: {policy: sync, lanes: 2}}
train: {batch_size: 50, epochs: 10}
"""


def ridge(records, penalty=1.0):
    """Weights of the standardized features and the intercept, by the normal equations."""
    width = len(records[0][0])
    means = [sum(x[i] for x, _ in records) / len(records) for i in range(width)]
    deviations = [math.sqrt(sum((x[i] - means[i])**2 for x, _ in records) / len(records)) for i in range(width)]
    middle = sum(y for _, y in records) / len(records)
    rows = [[penalty * (i == j) for j in range(width)] + [0.0] for i in range(width)]
    for x, y in records:
        z = [(x[i] - means[i]) / deviations[i] for i in range(width)]
        for i in range(width):
            for j in range(width):
                rows[i][j] += z[i] * z[j]
            rows[i][width] += z[i] * (y - middle)
    for i in range(width):  # Gauss and Jordan; the matrix is far from singular.
        rows[i] = [value / rows[i][i] for value in rows[i]]
        for other in range(width):
            if other != i:
                rows[other] = [a - rows[other][i] * b for a, b in zip(rows[other], rows[i])]
    weights = [row[width] for row in rows]
    return lambda x: middle + sum(w * (v - m) / d for w, v, m, d in zip(weights, x, means, deviations))


def rmse(pairs):
    return math.sqrt(sum((a - b)**2 for a, b in pairs) / len(pairs))


class TablesTest(unittest.TestCase):

    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.scratch.name)

    def tearDown(self):
        self.scratch.cleanup()

    def write(self, name, lines):
        path = self.folder / name
        path.write_text("".join(lines))
        return path

    def job(self, text):
        return text.replace("train.csv", str(self.folder / "train.csv")).replace(
            "test.csv", str(self.folder / "test.csv"))

    def check(self, text):
        """Exit code and words of `capstan config check`."""
        path = self.write("job.yaml", [text])
        return run_to_end("capstan", "config", "check", path)

    def write_census(self):
        self.write("train.csv", [CENSUS_NAMES, *census(1, 6000)])
        return self.write("test.csv", [CENSUS_NAMES, *census(2, 2000)])

    def write_prices(self):
        records = {"train.csv": prices(1, 4000), "test.csv": prices(2, 1000)}
        for name, rows in records.items():
            self.write(name, ["carat,depth,table,price\n",
                              *(f"{c!r},{d!r},{t!r},{y!r}\n" for (c, d, t), y in rows)])
        return records["train.csv"], records["test.csv"]

    def test_a_census_is_learnt_from_its_names_and_texts(self):
        test = self.write_census()
        with Crew(self.job(CENSUS), shards=1, workers=2) as crew:
            last = crew.wait()
            self.assertEqual(last.state, view_pb2.JOB_STATE_COMPLETED, last.reason)
            # The score that the incomes were drawn by has an AUC of .8738 on these records.
            self.assertGreater(crew.final("auc"), 0.865)
            scores = crew.predict(test)
            self.assertEqual(len(scores), 2000)
            unlabelled = self.write("unlabelled.csv", [line.rsplit(",", 1)[0] + "\n" for line in
                                                       test.read_text().splitlines()])
            self.assertEqual(crew.predict(unlabelled), scores)
            # Columns in another order are not taken for those that were trained on.
            moved = self.write("moved.csv", ["workclass, age, fnlwgt, education, hours, income\n", *census(3, 5)])
            refused = subprocess.run([BINARIES / "capstan", "predict", crew.manifest().parent, moved],
                                     capture_output=True, text=True)
            self.assertNotEqual(refused.returncode, 0)
            self.assertIn('column 0 is named "workclass", expected "age"', refused.stderr)

    def test_mistakes_of_the_schema_are_told_in_its_words(self):
        self.write_census()
        job = self.job(CENSUS)
        for broken, expected in (
                (job.replace('    positive: ">50K"\n', ""), '50K" is not a number; where labels are texts, set data.schema.positive'),
                (job.replace("label: income", "label: incme"), "did you mean income?"),
                (job.replace("[workclass, education]", "[workclass, salary]"), 'no column is named "salary"'),
                (job.replace("  header: true\n", ""), "with data.header: true"),
        ):
            with self.subTest(expected):
                code, said = self.check(broken)
                self.assertEqual(code, 2, said)
                self.assertIn(expected, said)
        code, said = self.check(job)
        self.assertEqual(code, 0, said)

    def test_a_price_in_its_own_unit_is_as_near_as_ridge(self):
        train, test = self.write_prices()
        bar = rmse([(ridge(train)(x), y) for x, y in test])
        with Crew(self.job(PRICES), shards=1, workers=2) as crew:
            last = crew.wait()
            self.assertEqual(last.state, view_pb2.JOB_STATE_COMPLETED, last.reason)
            told = crew.final("rmse")
            self.assertLess(told, 1.02 * bar, f"ridge: {bar}")
            scores = crew.predict(self.folder / "test.csv")
            self.assertAlmostEqual(rmse([(s, y) for s, (_, y) in zip(scores, test)]), told, delta=told * 1e-3)
            evaluated = subprocess.run([BINARIES / "capstan", "evaluate", crew.manifest().parent,
                                        self.folder / "test.csv"], check=True, capture_output=True, text=True)
            self.assertAlmostEqual(float(evaluated.stdout.split("RMSE")[1].split()[0]), told, delta=told * 1e-3)

    def test_a_chief_that_is_started_again_goes_on_with_what_was_measured(self):
        self.write_prices()
        job = self.job(PRICES).replace("epochs: 10", "epochs: 4")
        with Crew(job, shards=1, workers=2) as crew:
            crew.wait()
            whole = crew.fingerprint()
        with Crew(job, shards=1, workers=2, pace=50,
                  chief_flags=("--on-changed-job", "keep")) as crew:
            crew.until_examples(2000)
            with open(self.folder / "train.csv", "a") as file:
                file.writelines("1.0,60.0,7000.0,9000000.0\n" for _ in range(4000))
            crew.restart_chief()
            crew.until_state("RUNNING")
            crew.hurry()
            last = crew.wait()
            self.assertEqual(last.state, view_pb2.JOB_STATE_COMPLETED, last.reason)
            self.assertEqual(crew.fingerprint(), whole)

    def test_numbers_are_standardized_by_a_file_as_by_what_the_job_says_itself(self):
        self.write_prices()
        measures = {"carat": (1.6, 0.8), "depth": (60.0, 5.5), "table": (7000.5, 1150.25)}
        given = ", ".join(f"{{columns: {name}, transform: standard, mean: {mean}, deviation: {deviation}}}"
                          for name, (mean, deviation) in measures.items())
        names = "{columns: [carat, depth, table], transform: standard"
        job = self.job(PRICES).replace("epochs: 10", "epochs: 4")
        with Crew(job.replace(names + "}", f"[{given}]"), shards=1, workers=1) as crew:
            crew.wait()
            whole = crew.fingerprint()
        lines = [f"{name}\t{mean}\t{deviation}\n" for name, (mean, deviation) in measures.items()]
        file = self.write("numbers.tsv", ["unused\t0\t1\n", *lines])
        of_file = job.replace(names, f"{names}, file: {file}")
        with Crew(of_file, shards=1, workers=2, pace=50, chief_flags=("--on-changed-job", "keep")) as crew:
            crew.until_examples(2000)
            self.write("numbers.tsv", [*lines[:2], "table\t7000.5\t1000\n"])
            crew.restart_chief()
            crew.until(lambda: crew.status().job_change, "the change")
            self.assertIn("data.schema.numeric[2].deviation: 1150.25 -> 1000", crew.status().job_change)
            self.assertIn("data.schema.numeric[0].file (its checksum)", crew.status().job_change)
            crew.hurry()
            crew.wait()
            self.assertEqual(crew.fingerprint(), whole, "the job goes on with the numbers it began with")
        for content, expected in ((lines[:2], 'has no line of column "table"'),
                                  (["carat;1;2\n"], "numbers.tsv:1: expected a column, its mean and its deviation"),
                                  ([*lines, "table\t1\t-1\n"], 'numbers.tsv:4: the deviation "-1" is no number above 0')):
            self.write("numbers.tsv", content)
            code, said = self.check(of_file)
            self.assertEqual(code, 2, said)
            self.assertIn(expected, said)


if __name__ == "__main__":
    unittest.main(verbosity=2)
