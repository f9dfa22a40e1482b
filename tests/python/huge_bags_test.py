"""A record with ten million values in a cell: of a Parquet list the first ones count, in bounded memory; where they are one page, or a line
of text, their place is named."""

import array
import pathlib
import re
import tempfile
import unittest

from python_data import skip_if_lacking

if __name__ == "__main__":
    skip_if_lacking()

import parquet_writer as parquet  # noqa: E402
from crew import run_to_end, view_pb2  # noqa: E402
from python_crew import PythonCrew  # noqa: E402

RECORDS, HUGE_ROW, MOST = 2000, 1234, 50
HUGE = 10_000_000
MOST_MEMORY = 75  # MB beside what the same job takes whose bags are small: the list as it is stored is 80.
JOB = """
job: bags
data:
  {format}
  train: {file}
  schema: {{label: liked, numeric: [price]}}
  features:
    item:    {{column: user_id, kind: id}}
    history: {{column: clicked, kind: id, table: item, many: true, most: %d, pooling: mean}}
  task_records: 500
model: {{user: recommender.py, embedding_dim: 4}}
train: {{batch_size: 50}}
""" % MOST


class HugeBagsTest(unittest.TestCase):

    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="capstan-bags-")
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def write(self, huge, **how):
        """Records of which one has so many values."""
        path = self.folder / "train.parquet"
        clicked = [array.array("q", range(row % 7)) for row in range(RECORDS)]
        clicked[HUGE_ROW] = array.array("q", range(huge))
        parquet.write(path, [parquet.Column("liked", "int64", [row % 2 for row in range(RECORDS)]),
                             parquet.Column("price", "double", [0.5] * RECORDS),
                             parquet.Column("user_id", "int64", [row % 100 for row in range(RECORDS)]),
                             parquet.Column("clicked", "int64", lists=clicked)], **how)
        return JOB.format(format="format: parquet", file=path)

    def trained(self, job):
        """The fingerprint of the model, and the most memory that its worker has had, in MB."""
        with PythonCrew(job, example="recommender", shards=1, workers=1, name="bags", exit_when_done=False) as crew:
            last = crew.until_state("COMPLETED", "FAILED")
            self.assertEqual((last.state, last.examples), (view_pb2.JOB_STATE_COMPLETED, RECORDS), last.reason)
            status = pathlib.Path(f"/proc/{crew.processes['worker-0'].pid}/status").read_text(encoding="ascii")
            return crew.fingerprint(), int(re.search(r"VmHWM:\s*(\d+)", status).group(1)) / 1000

    def test_the_first_values_of_a_list_count_and_memory_is_bounded(self):
        expected, small = self.trained(self.write(MOST))
        found, large = self.trained(self.write(HUGE))
        print(f"{small:.0f} MB with small bags, {large:.0f} MB with one of {HUGE} values", flush=True)
        self.assertEqual(found, expected)
        self.assertLess(large, small + MOST_MEMORY)

    def check(self, text):
        """Exit code and words of `capstan config check`."""
        job = self.folder / "job.yaml"
        job.write_text(text)
        return run_to_end("capstan", "config", "check", job)

    def test_a_page_that_is_too_large_for_memory_is_named(self):
        job = self.write(HUGE, page_values=2 * HUGE)
        code, said = self.check(job)
        self.assertEqual(code, 2, said)
        self.assertRegex(said, r'train.parquet: column "clicked": the page at byte \d+: has 100\d+ entries of lists; expected at most 4000000')

    def test_a_text_that_is_too_long_for_a_line_is_named(self):
        path = self.folder / "train.csv"
        for values, code in ((HUGE // 2, 0), (HUGE, 2)):
            lines = ["liked,price,user_id,clicked\n", *(f"{row % 2},0.5,{row},{row}|1\n" for row in range(RECORDS))]
            lines[HUGE_ROW] = f"1,0.5,7,{'7|' * values}7\n"
            path.write_text("".join(lines))
            at = sum(len(line) for line in lines[:HUGE_ROW])
            found, said = self.check(JOB.format(format="format: csv\n  header: true", file=path))
            self.assertEqual(found, code, said)
            if code:
                self.assertIn(f"{path}: byte {at}: a line of more than 16777216 bytes", said)


if __name__ == "__main__":
    unittest.main(verbosity=2)
