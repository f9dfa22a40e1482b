"""How a number comes about: statistics, which turns count, who used the processors, what a ratio says."""

import json
import pathlib
import subprocess
import sys
import unittest
from unittest import mock

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import frame
import page
import processors
import results
import sections
import turns
from a_turn import BUSY, QUIET, turn
from compare import Compared, Row
from turns import Measured, Side, Turn


class ResultsTest(unittest.TestCase):

    def test_a_line_of_a_benchmark_is_read_with_all_its_runs(self):
        (one,) = results.parse('warming up\nRESULT {"peer": "capstan", "workload": "P1", "case": "dense pull", "unit": "GB/s", '
                               '"values": [3.0, 9.0, 4.0], "cpu_per_unit": 0.5}\n')
        self.assertEqual((one.case, one.unit, one.values, one.value, one.cpu), ("P1 dense pull", "GB/s", [3.0, 9.0, 4.0], 4.0, 0.5))

    def test_cpu_seconds_are_told_apart_by_who_used_them(self):
        line = json.dumps({"case": "pull", "unit": "GB/s", "values": [3.0], "cpu_per_unit": 0.5, "cpu_client": 0.2, "cpu_servers": 0.3})
        one = turns.Measured([Turn("capstan", results.parse(line), wall=1.0, cpu=1.0, others=0.0)], "capstan", "pull", wanted=1)
        self.assertEqual(page.cpu_seconds(one), "0.5000: client 0.2, servers 0.3")

    def test_a_line_of_a_peer_that_tells_its_median_alone_does_as_well(self):
        (one,) = results.parse('{"peer": "redis", "workload": "P6", "case": "p50", "unit": "us", "median": 19.2, "min": 19, "max": 20}')
        self.assertEqual((one.value, one.cpu), (19.2, None))

    def test_a_result_without_a_value_is_an_error_and_not_passed_over(self):
        with self.assertRaises(KeyError):
            results.parse('RESULT {"workload": "P1", "case": "dense pull", "unit": "GB/s"}')

    def test_a_median_of_an_even_number_is_between_the_two_in_the_middle(self):
        self.assertEqual(results.median([1, 2, 4, 100]), 3)

    def test_percentiles_are_values_that_occurred(self):
        values = list(range(1000, 0, -1))
        self.assertEqual([results.percentile(values, p) for p in (0, 50, 99, 99.9, 100)], [1, 501, 990, 999, 1000])

    def test_numbers_are_shown_with_the_range_of_their_turns(self):
        self.assertEqual(results.spread([3.4912, 3.3812, 3.61]), "3.49 (3.38–3.61)")
        self.assertEqual(results.spread([41123.4]), "41,123")
        self.assertEqual(results.spread([0.73812, 0.73799]), "0.7381 (0.7380–0.7381)")
        self.assertEqual(results.spread([]), "not measured")


class ProcessorsTest(unittest.TestCase):

    STAT = "cpu  {} 20 30 1000 50 7 8 {} 90 0\ncpu0 1 1 1 1 1 1 1 1 0 0\nintr 5\n"

    def test_busy_is_the_time_of_processes_and_what_the_host_took(self):
        with mock.patch.object(processors, "TICKS", 100):
            found = processors.parse_stat(self.STAT.format(100, 40))
        self.assertAlmostEqual(found.busy, (100 + 20 + 30 + 40) / 100)
        self.assertAlmostEqual(found.all, (100 + 20 + 30 + 40 + 1000 + 50 + 7 + 8) / 100)

    def test_what_is_not_ours_of_the_busy_time_is_a_disturbance(self):
        before, after = processors.Busy(busy=10, all=100), processors.Busy(busy=18, all=120)
        self.assertAlmostEqual(processors.disturbance(before, after, own=6), 2 / 20)

    def test_steal_alone_is_a_disturbance(self):
        with mock.patch.object(processors, "TICKS", 1):
            before, after = (processors.parse_stat(self.STAT.format(100, steal)) for steal in (0, 30))
        self.assertEqual(processors.disturbance(before, after, own=0), 1)

    def test_clocks_that_disagree_make_no_negative_disturbance(self):
        before, after = processors.Busy(busy=10, all=100), processors.Busy(busy=18, all=120)
        self.assertEqual(processors.disturbance(before, after, own=8.01), 0)

    def test_a_commands_cpu_time_holds_that_of_its_orphans(self):
        # In a process of its own, as it adopts orphans and waits for all its children. The daemon uses CPU time, as its own
        # clock tells, when its parent has ended.
        burn = "import time\nwhile time.process_time() < 0.25: pass"
        script = f"""
import sys
sys.path.insert(0, {str(HERE)!r})
import processors
processors.adopt_orphans()
ran = processors.run(["sh", "-c", '"$0" -c "$1" & echo begun', sys.executable, {burn!r}], patience=600)
print(ran.code, ran.output.strip(), ran.cpu > 0.2)
"""
        found = subprocess.run([sys.executable, "-B", "-c", script], capture_output=True, text=True, check=True)
        self.assertEqual(found.stdout, "0 begun True\n")

    def test_a_command_that_does_not_end_is_ended(self):
        script = f"""
import sys
sys.path.insert(0, {str(HERE)!r})
import processors
processors.adopt_orphans()
print(processors.run(["sh", "-c", "sleep 1000 & sleep 1000"], timeout=0.1).code, processors.children())
"""
        found = subprocess.run([sys.executable, "-B", "-c", script], capture_output=True, text=True, check=True)
        self.assertEqual(found.stdout, "-9 []\n")


class TurnsTest(unittest.TestCase):

    SIDES = [Side("capstan", []), Side("peer", [])]

    def take(self, disturbed, **settings):
        """Which side was taken, in order. `disturbed`: at which turns others used the processors."""
        order = []

        def one(side):
            order.append(side.name)
            return turn(side.name, others=BUSY if len(order) in disturbed else QUIET, pull=1.0)

        return order, turns.take_turns(self.SIDES, one, **settings)

    def test_sides_take_turns(self):
        order, _ = self.take(disturbed=(), wanted=3)
        self.assertEqual(order, ["capstan", "peer"] * 3)

    def test_a_disturbed_turn_is_left_out_and_taken_again_on_either_side(self):
        order, found = self.take(disturbed=(1, 4), wanted=2)
        self.assertEqual(order, ["capstan", "peer", "capstan", "peer", "capstan", "peer"])
        self.assertEqual([one.rejected is None for one in found], [False, True, True, False, True, True])

    def test_it_is_given_up_when_there_is_no_quiet(self):
        order, found = self.take(disturbed=range(100), wanted=2, bound=4)
        self.assertEqual(order, ["capstan", "peer"] * 4)
        self.assertEqual(Measured(found, "capstan", "pull", wanted=2).value, None)

    def test_turns_that_were_kept_are_not_taken_again(self):
        kept = [turn("capstan", pull=1.0), turn("peer", pull=1.0), turn("capstan", pull=1.0)]
        order, found = self.take(disturbed=(), wanted=2, kept=kept)
        self.assertEqual(order, ["peer"])
        self.assertEqual(len(found), 4)

    def test_a_side_that_fails_is_left_out_and_the_others_go_on(self):
        order = []

        def one(side):
            order.append(side.name)
            return None if side.name == "peer" else turn(side.name, pull=1.0)

        turns.take_turns(self.SIDES, one, wanted=4)
        self.assertEqual((order.count("capstan"), order.count("peer")), (4, 2))

    def test_no_turn_begins_after_the_time_that_was_given(self):
        left = iter([True, True, True])
        order, _ = self.take(disturbed=(), wanted=5, more=lambda: next(left, False))
        self.assertEqual(order, ["capstan", "peer", "capstan"])

    def test_what_counts_is_the_median_of_the_quiet_turns_and_never_the_best(self):
        found = [turn("capstan", pull=value) for value in (3.0, 9.0, 1.0, 2.0, 4.0)]
        found.append(turn("capstan", others=BUSY, pull=99.0))
        one = Measured(found, "capstan", "pull", wanted=5)
        self.assertEqual((one.value, one.values, one.taken, one.quiet), (3.0, [3.0, 9.0, 1.0, 2.0, 4.0], 6, 5))

    def test_four_quiet_turns_of_five_give_no_wall_time_but_cpu_seconds_of_all(self):
        found = [turn("capstan", pull=(3.0, cpu)) for cpu in (0.5, 0.6, 0.7, 0.8)]
        found.append(turn("capstan", others=BUSY, pull=(1.0, 0.9)))
        one = Measured(found, "capstan", "pull", wanted=5)
        self.assertEqual((one.value, one.values, one.cpu), (None, [], 0.7))


class PlausibilityTest(unittest.TestCase):

    def test_a_turn_faster_than_the_raw_stream_is_rejected(self):
        rule = frame.faster_than_its_bound(("P1 dense pull", sections.RAW_PULL))
        fast = turn("capstan", **{"P1 dense pull": 3.49, sections.RAW_PULL: 2.17})
        self.assertIn("its bound", turns.judge(fast, implausible=rule))
        self.assertIsNone(turns.judge(turn("capstan", **{"P1 dense pull": 3.0, sections.RAW_PULL: 3.7}), implausible=rule))
        self.assertIsNone(turns.judge(turn("tensorflow", **{"P1 dense pull 1 x 256 MiB": 3.0}), implausible=rule))

    def test_others_that_had_more_than_the_stated_share_disturb_a_turn(self):
        self.assertIsNone(turns.judge(turn("capstan", others=0.04, pull=1.0), quiet=0.04))
        self.assertIn("5 %", turns.judge(turn("capstan", others=0.05, pull=1.0), quiet=0.04))


class CompareTest(unittest.TestCase):

    def compared(self, row, found, wanted=1):
        return Compared(row, found, "capstan", wanted)

    def test_a_bar_and_a_goal_are_judged_apart(self):
        one = self.compared(Row("pull", "pull", [("peer", "pull")], 1, 1.4), [turn("capstan", pull=3.0), turn("peer", pull=2.5)])
        self.assertEqual(one.cells()[-2:], ["≥ 1: met", "≥ 1.4: **missed**"])
        self.assertAlmostEqual(one.wall, 1.2)

    def test_less_is_better_where_it_is_said(self):
        one = self.compared(Row("p50, us", "p50", [("peer", "echo")], 1.3, 0.9, less=True), [turn("capstan", p50=110.), turn("peer", echo=100.)])
        self.assertEqual(one.cells()[-2:], ["≤ 1.3: met", "≤ 0.9: **missed**"])

    def test_the_best_of_the_peers_cases_counts(self):
        found = [turn("capstan", pull=4.0), turn("a", pull_1=1.0, pull_10=2.0), turn("b", pull_1=1.5)]
        one = self.compared(Row("pull", "pull", [("a", "pull_.*"), ("b", "pull_.*")], 1), found)
        self.assertEqual((one.wall, one.theirs.case), (2.0, "pull_10"))

    def test_without_quiet_turns_a_bar_is_not_measured_and_cpu_seconds_are_shown(self):
        found = [turn("capstan", others=BUSY, pull=(4.0, 0.5)), turn("peer", others=BUSY, pull=(1.0, 1.0))]
        one = self.compared(Row("pull", "pull", [("peer", "pull")], 1.5), found)
        self.assertEqual(one.cells(), ["pull", "not measured", "peer: pull", "not measured", "", "0.5000 / 1", "2.00",
                                       "≥ 1.5: not measured; by CPU met", ""])

    def test_one_side_without_quiet_turns_leaves_the_ratio_unknown(self):
        found = [turn("capstan", pull=4.0), turn("peer", others=BUSY, pull=1.0)]
        one = self.compared(Row("pull", "pull", [("peer", "pull")], 1.5), found)
        self.assertEqual((one.wall, one.verdict(1.5)), (None, "≥ 1.5: not measured"))

    def test_a_number_is_a_bar_of_its_own(self):
        one = self.compared(Row("AUC", "auc", 0.788, 1), [turn("capstan", auc=0.7882)])
        self.assertEqual(one.cells()[-2], "≥ 1: met")

    def test_a_goal_of_cpu_time_is_judged_by_it_alone(self):
        row = Row("examples/s", "pace", [("peer", "pace")], goal=1, cpu=True)
        dear = [turn("capstan", pace=(9.0, 2.0)), turn("peer", pace=(1.0, 1.0))]
        self.assertEqual(self.compared(row, dear).verdict(1), "≥ 1 by CPU: **missed**")

    def test_a_row_whose_side_did_not_run_is_left_out(self):
        self.assertFalse(self.compared(Row("pull", "pull", [("peer", "pull")]), [turn("capstan", pull=1.0)]).known)


if __name__ == "__main__":
    unittest.main(verbosity=2)
