#!/usr/bin/env python3
"""The comparison of docs/metrics.md with scrapes sees every kind of difference."""
import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests" / "integration"))
from metrics_documented import differences, documented  # noqa: E402

PAGE = """
## Every process
| `capstan_build_info` | gauge | version | x | 1 |
## PS shard
| `capstan_pushes_total` | counter | code | x | y |
| `capstan_wait_seconds` | histogram | | x | y |
| `capstan_lag` (with ssp) | gauge | member | x | y |
"""
GOOD = """# HELP capstan_build_info x
# TYPE capstan_build_info gauge
capstan_build_info{version="a\\"b"} 1
# TYPE capstan_pushes_total counter
capstan_pushes_total{code="OK"} 3
capstan_pushes_total{code="ABORTED"} 0
# TYPE capstan_wait_seconds histogram
capstan_wait_seconds_count 1
capstan_wait_seconds_sum 0.5
capstan_wait_seconds_bucket{le="1"} 1
capstan_wait_seconds_bucket{le="+Inf"} 1
"""


class DifferencesTest(unittest.TestCase):
    def test_a_scrape_as_documented_has_none(self):
        self.assertEqual(differences(PAGE, [("ps", GOOD)]), [])

    def test_what_is_exported_only_is_named(self):
        scrape = GOOD + "# TYPE capstan_new gauge\ncapstan_new 1\n"
        self.assertEqual(differences(PAGE, [("ps", scrape)]),
                         ["ps: capstan_new is exported but not documented"])

    def test_what_is_documented_only_is_named(self):
        scrape = GOOD[:GOOD.index("# TYPE capstan_wait")]
        self.assertEqual(differences(PAGE, [("ps", scrape)]),
                         ["ps: capstan_wait_seconds is documented but not exported"])

    def test_another_type_is_named(self):
        scrape = GOOD.replace("capstan_pushes_total counter", "capstan_pushes_total gauge")
        self.assertEqual(differences(PAGE, [("ps", scrape)]),
                         ["ps: capstan_pushes_total is a gauge, documented as a counter"])

    def test_other_labels_are_named(self):
        scrape = GOOD.replace("code=", "status=")
        self.assertEqual(
            differences(PAGE, [("ps", scrape)]),
            ["ps: capstan_pushes_total has the labels ['status'], documented ['code']"])

    def test_a_page_that_says_something_else_than_the_help_is_named(self):
        scrape = GOOD + "# HELP capstan_pushes_total xy\n"
        self.assertEqual(differences(PAGE, [("ps", scrape)]),
                         ["ps: the help of capstan_pushes_total is 'xy', the page says 'x'"])

    def test_the_page_says_neither_less_nor_more_than_the_help(self):
        page = PAGE.replace("`capstan_pushes_total` | counter | code | x |", "`capstan_pushes_total` | counter | code | Pushes `ok`: by status. |")
        for said, wrong in (("Pushes `ok`: by status.", 0), ("Pushes `ok`.", 1), ("Pushes `ok`: by status. All.", 1)):
            scrape = GOOD + f"# HELP capstan_pushes_total {said}\n"
            self.assertEqual(len(differences(page, [("ps", scrape)])), wrong, said)

    def test_a_metric_of_another_role_is_not_documented_here(self):
        self.assertIn("worker: capstan_pushes_total is exported but not documented",
                      differences(PAGE, [("worker", GOOD)]))

    def test_it_is_enough_that_one_process_of_a_role_exports_it(self):
        other = GOOD[:GOOD.index("# TYPE capstan_wait")]
        self.assertEqual(differences(PAGE, [("ps", GOOD), ("ps", other)]), [])

    def test_the_page_is_understood(self):
        roles = documented((ROOT / "docs" / "metrics.md").read_text(encoding="utf-8"))
        for role, metrics in roles.items():
            self.assertGreater(len(metrics), 2, role)
            for name, (kind, _, _) in metrics.items():
                self.assertIn(kind, ("counter", "gauge", "histogram", "summary"), name)
                self.assertEqual(name.endswith("_total"), kind == "counter", name)


if __name__ == "__main__":
    unittest.main()
