"""The same rows as csv and as Parquet train the same model, bit for bit, and are scored alike."""

import pathlib
import shutil
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from crew import Crew, run_to_end
from parquet_writer import Column, write

TABLE = pathlib.Path(__file__).parents[1] / "golden" / "parquet"
FILES = ["table.csv", "dictionary-snappy-v1.parquet", "delta-lz4-v2.parquet"]
JOB = """
job: table
data:
  {format}
  train: {file}
  eval: {file}
  schema:
    label: label
    categorical: [text, code, uint, flag]
    numeric:
      - {{columns: [int, always], transform: log}}
      - {{columns: [double, float], transform: standard}}
      - {{columns: day, transform: bucket, boundaries: [0, 9000]}}
  task_records: {records}
  task_bytes: 1MiB
  pieces: 1
  shuffle: false
model: {{preset: wide_deep, embedding_dim: 4, hidden: [8]}}
update: {{sparse: {{policy: sync, lanes: {lanes}}}, dense: {{policy: sync, lanes: {lanes}}}}}
train: {{batch_size: 25, epochs: 2}}
"""


def job(file, lanes, records=50):
    text = "format: csv\n  header: true" if file.endswith(".csv") else "format: parquet"
    return JOB.format(format=text, file=TABLE / file, lanes=lanes, records=records)


class ParquetTest(unittest.TestCase):

    def setUp(self):
        self.scratch = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.scratch.name)

    def tearDown(self):
        self.scratch.cleanup()

    def trained(self, name, text, **more):
        with Crew(text, name="parquet", **more) as crew:
            crew.wait()
            return shutil.copytree(crew.manifest().parent, self.folder / name)

    def assert_same(self, one, other):
        code, said = run_to_end("capstan", "checkpoint", "diff", one, other)
        self.assertEqual(code, 0, said)
        for _, _, _, changed, added, removed, *_ in (line.split() for line in said.splitlines()[1:]):
            self.assertEqual((changed, added, removed), ("0", "0", "0"), said)

    def test_csv_and_parquet_train_one_model(self):
        # One task, as those of csv are cut by bytes.
        models = [self.trained(file, job(file, 1, records=300), shards=1, workers=1) for file in FILES]
        for model in models[1:]:
            self.assert_same(models[0], model)
        for file in FILES[1:]:
            of_csv, found = self.scores(models[0], FILES[0]), self.scores(models[1], file)
            for one, other in zip(found, of_csv, strict=True):
                self.assertAlmostEqual(one, other, delta=1e-6, msg="batches may be cut elsewhere, and sums have another order")
        self.assertGreater(len(set(of_csv)), 100, "nothing was learnt")

    def scores(self, model, file):
        code, said = run_to_end("capstan", "predict", model, TABLE / file)
        self.assertEqual(code, 0, said)
        return [float(line) for line in said.splitlines()]

    def test_workers_do_not_matter(self):
        one = self.trained("one", job(FILES[1], 2), shards=1, workers=1)
        self.assert_same(one, self.trained("two", job(FILES[1], 2), shards=2, workers=2))

    def test_what_cannot_be_read_is_told_before_anything_starts(self):
        path = self.folder / "job.yaml"
        path.write_text(job("refused.parquet", 1).replace("[double, float]", "[double, list]"))
        code, said = run_to_end("capstan", "config", "check", path)
        self.assertEqual(code, 2, said)
        self.assertIn("no column is named \"int\"", said)
        path.write_text(job(FILES[1], 1).replace("uint, flag", "uint, float").replace("[double, float]", "double"))
        code, said = run_to_end("capstan", "config", "check", path)
        self.assertEqual(code, 2, said)
        self.assertIn("column \"float\" is FLOAT, and a categorical value must be", said)

    def write_tables(self, count=10, rows=400):
        """Files of one schema, in the order of their names."""
        for i in range(count):
            self.write_table(i, [Column("price", "double", [row / rows for row in range(rows)])], rows)

    def write_table(self, i, prices, rows=400):
        path = self.folder / f"{i:02}.parquet"
        write(path, [Column("label", "int64", [row % 2 for row in range(rows)]),
                     Column("city", "text", [b"c%d" % (row % 9) for row in range(rows)]), *prices])
        return path

    def other_tables(self):
        """(what is in the place of the prices of the seventh file, what is said of it)."""
        rows = 400
        yield [Column("prise", "double", [0.5] * rows)], 'has no column "price", which the first training file has'
        yield [Column("price", "double", lists=[[0.5, 1.5]] * rows)], 'column "price" is a list'
        yield [], 'has no column "price", which the first training file has'

    TABLES = """
job: tables
data:
  format: parquet
  train: "{folder}/*.parquet"
  schema: {{label: label, categorical: [city], numeric: [price]}}
  max_bad_records: 1000000
  pieces: 1
  shuffle: false
  task_records: 100
model: {{preset: wide_deep, embedding_dim: 4, hidden: [8]}}
train: {{batch_size: 20}}
"""

    def test_another_schema_in_the_seventh_file_is_refused_by_name_before_anything_starts(self):
        path = self.folder / "job.yaml"
        path.write_text(self.TABLES.format(folder=self.folder))
        self.write_tables()
        for prices, expected in self.other_tables():
            with self.subTest(expected):
                file = self.write_table(6, prices)
                code, said = run_to_end("capstan", "config", "check", path)
                self.assertEqual(code, 2, said)
                self.assertIn(f"{file}: {expected}", said)
        # Columns in another order, and one more, are no other schema: they are found by their names.
        rows = 400
        write(file, [Column("more", "int64", [1] * rows), Column("price", "float", [0.5] * rows),
                     Column("label", "int64", [1] * rows), Column("city", "text", [b"c"] * rows)])
        code, said = run_to_end("capstan", "config", "check", path)
        self.assertEqual(code, 0, said)

    def test_texts_in_the_place_of_numbers_are_refused_or_counted_as_bad_records(self):
        self.write_tables()
        texts = [Column("price", "text", [b"dear"] * 400)]
        path = self.folder / "job.yaml"
        path.write_text(self.TABLES.format(folder=self.folder))
        file = self.write_table(6, texts)
        code, said = run_to_end("capstan", "config", "check", path)
        self.assertEqual(code, 2, said)
        self.assertIn(f"{file}: row 0: column 2 (price): ", said)
        self.write_table(6, [Column("price", "double", [0.5] * 400)])
        with Crew(self.TABLES.format(folder=self.folder), name="tables", workers=1, pace=20, exit_when_done=False) as crew:
            crew.until_examples(100)
            self.write_table(6, texts)
            last = crew.until_state("COMPLETED", "FAILED")
            self.assertEqual(last.bad_records, 400, last.reason)
            self.assertEqual(last.examples, 9 * 400)
            self.assertIn(f"{file}: row ", last.bad_record_examples[0])

    def test_another_schema_that_comes_while_the_job_runs_ends_it_by_name(self):
        self.write_tables()
        for prices, expected in self.other_tables():
            with self.subTest(expected):
                self.write_table(6, [Column("price", "double", [0.5] * 400)])
                with Crew(self.TABLES.format(folder=self.folder), name="tables", workers=1, pace=20) as crew:
                    crew.until_examples(100)
                    file = self.write_table(6, prices)
                    last = crew.wait(expect=2)
                    self.assertIn(f"{file}: {expected}", last.reason)


if __name__ == "__main__":
    unittest.main()
