"""The same rows as csv and as Parquet train the same model, bit for bit, and are scored alike."""

import pathlib
import shutil
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from crew import Crew, run_to_end

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
            of_csv = run_to_end("capstan", "predict", models[0], TABLE / FILES[0])
            self.assertEqual(run_to_end("capstan", "predict", models[1], TABLE / file), of_csv)
        self.assertGreater(len(set(of_csv[1].splitlines())), 100, "nothing was learnt")

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


if __name__ == "__main__":
    unittest.main()
