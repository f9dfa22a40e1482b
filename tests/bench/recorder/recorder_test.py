"""How the numbers of RESULTS.md come about: statistics, which turns count, who used the processors, what is written where."""

import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import types
import unittest
from unittest import mock

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import compare
import learning
import machine
import markers
import page
import processors
import results
import sections
import store
import turns
from compare import Compared, Row
from results import Result
from turns import Measured, Side, Turn

# Debian's Python has a module of that name, too.
peer_cpu_spec = importlib.util.spec_from_file_location("peer_cpu", HERE.parent / "peer_cpu" / "sitecustomize.py")
peer_cpu = importlib.util.module_from_spec(peer_cpu_spec)
peer_cpu_spec.loader.exec_module(peer_cpu)

QUIET, BUSY = 0.01, 0.2  # Shares of the machine that others had.


def turn(side, others=QUIET, rejected=None, **values):
    """A turn that found `case=value` or `case=(value, CPU seconds a unit)`."""
    found = []
    for case, value in values.items():
        wall, cpu = value if isinstance(value, tuple) else (value, None)
        found.append(Result(case, "GB/s", [wall], cpu))
    one = Turn(side, found, wall=2.0, cpu=1.5, others=others, when="2026-11-23T12:00:00+00:00")
    one.rejected = rejected or turns.judge(one)
    return one


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
        rule = sections.faster_than_its_bound(("P1 dense pull", sections.RAW_PULL))
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


class MarkersTest(unittest.TestCase):

    TEXT = "# Results\n<!-- recorded: dense -->\nold\n<!-- end of dense -->\nkept\n<!-- recorded: tls -->\n<!-- end of tls -->\n"

    def test_only_what_is_between_the_markers_is_replaced(self):
        self.assertEqual(markers.replace(self.TEXT, "dense", "new\n\n"), self.TEXT.replace("old", "\nnew\n"))

    def test_replacing_twice_is_replacing_once(self):
        once = markers.replace(self.TEXT, "dense", "new")
        self.assertEqual(markers.replace(once, "dense", "new"), once)

    def test_a_document_without_the_markers_is_an_error(self):
        for text in ("", self.TEXT + self.TEXT, "<!-- end of dense -->\n<!-- recorded: dense -->\n"):
            with self.assertRaisesRegex(ValueError, "recorded: dense"):
                markers.replace(text, "dense", "new")

    def test_a_file_is_replaced_as_a_whole(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "RESULTS.md"
            file.write_text(self.TEXT, encoding="utf-8")
            markers.rewrite(file, "tls", "≥ 1")
            self.assertIn("<!-- recorded: tls -->\n\n≥ 1\n\n<!-- end of tls -->", file.read_text(encoding="utf-8"))
            self.assertEqual([path.name for path in file.parent.iterdir()], ["RESULTS.md"])

    def test_every_section_has_its_place_in_the_document_and_every_place_a_section(self):
        text = (HERE.parent / "RESULTS.md").read_text(encoding="utf-8")
        self.assertEqual(sorted(markers.sections(text)), sorted(sections.ALL))
        for name in sections.ALL:
            markers.replace(text, name, "")
        self.assertEqual(markers.sections((sections.ROOT / "README.md").read_text(encoding="utf-8")), ["speed"])


class StoreTest(unittest.TestCase):

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.file = pathlib.Path(scratch.name) / "bench" / "dense.jsonl"

    def test_what_was_measured_comes_back_as_it_was(self):
        kept = store.Store(self.file, "program")
        for one in (turn("capstan", pull=(3.0, 0.5)), turn("peer", others=BUSY, pull=1.0)):
            kept.add(one)
        found = kept.turns()
        self.assertEqual([(one.side, one.rejected) for one in found], [("capstan", None), ("peer", "others had 20 % of the processors")])
        self.assertEqual((found[0].results[0].value, found[0].results[0].cpu, found[0].when), (3.0, 0.5, "2026-11-23T12:00:00+00:00"))

    def test_results_of_other_programs_are_not_mixed_with_these(self):
        store.Store(self.file, "before").add(turn("capstan", pull=3.0))
        self.assertEqual(store.Store(self.file, "after").turns(), [])

    def test_a_line_that_was_cut_off_is_no_turn(self):
        kept = store.Store(self.file, "program")
        kept.add(turn("capstan", pull=3.0))
        kept.add(turn("capstan", pull=4.0))
        self.file.write_text(self.file.read_text()[:-20])
        self.assertEqual([one.results[0].value for one in kept.turns()], [3.0])


class PageTest(unittest.TestCase):

    def section(self, wanted=2):
        return sections.Section("dense", [Side("capstan", []), Side("peer", [])], [Row("pull, GB/s", "pull", [("peer", "pull")], 1, 2)],
                                wanted=wanted)

    def test_a_section_shows_its_comparison_all_its_turns_and_what_was_left_out(self):
        found = [turn("capstan", pull=(3.0, 0.5)), turn("peer", pull=(2.0, 1.0)), turn("capstan", pull=(5.0, 0.7)),
                 turn("peer", others=BUSY, pull=(1.0, 2.0)), turn("peer", pull=(2.0, 1.0))]
        text = "\n".join(page.render(self.section(), found, "today, here"))
        self.assertIn("| pull, GB/s | 4 (3–5) | peer: pull | 2 | 2.00 | 0.6000 / 1 | 1.67 | ≥ 1: met | ≥ 2: met |", text)
        self.assertIn("| capstan | pull | GB/s | 4 (3–5) | 3, 5 | 0.6000 (0.5000–0.7000) |", text)
        self.assertIn("- peer: 2 quiet turns of 3, of 2 s each, and 1.5 CPU seconds of all its processes; "
                      "left out: others had 20 % of the processors.", text)
        self.assertTrue(text.startswith("today, here\n"))

    def test_a_side_without_enough_quiet_turns_says_so(self):
        found = [turn("capstan", pull=(3.0, 0.5)), turn("capstan", others=BUSY, pull=(5.0, 0.7))]
        text = "\n".join(page.render(self.section(), found, "today, here"))
        self.assertIn("| capstan | pull | GB/s | not measured | not measured: 1 quiet of 2 | 0.6000 (0.5000–0.7000) |", text)
        self.assertIn("**CPU seconds only**", text)
        self.assertIn("- peer: not measured", text)

    def document(self, name, turns):
        conditions = f"`tests/bench/record {name}`, 2026-11-23 08:00 UTC, commit abcdef1 with changes; here. 5 quiet turns a side, 3 runs a turn."
        rendered = "\n".join(page.render(self.section(wanted=5), turns, conditions))
        return f"<!-- recorded: {name} -->\n\n{rendered}\n\n<!-- end of {name} -->\n"

    def test_readmes_table_takes_no_number_that_was_not_measured(self):
        turns = ([turn("capstan", **{"P1 dense pull": 3.5, "P1 dense push SGD": 2.5}) for _ in range(5)] +
                 [turn("peer", **{"P1 dense pull 1 x 256 MiB": 2.5}) for _ in range(4)])
        self.assertNotIn(("peer", "P1 dense pull 1 x 256 MiB"), page.cases_in(self.document("dense", turns)), "four quiet turns")
        text = "\n".join(page.readme(self.document("dense", turns) + self.document("sparse", turns[:4])))
        self.assertTrue(text.startswith("Medians of 5 quiet turns, with the day and the commit of each section: "
                                        "dense: 2026-11-23, abcdef1 with changes; sparse: 2026-11-23"), text)
        self.assertIn("| pull of 256 MiB dense | 3.5 GB/s | not measured |", text)
        self.assertIn("| push of 256 MiB dense, SGD | 2.5 GB/s | not measured |", text)
        self.assertIn("| DeepFM, one shard and one worker with 1 thread a step | not measured | not measured |", text)

    def test_readmes_table_is_the_best_case_of_the_document_as_it_stands(self):
        document = (sections.ROOT / "tests/bench/RESULTS.md").read_text(encoding="utf-8")
        cases = page.cases_in(markers.content(document, "latency"))
        self.assertIn(f"| pull of one row, median | {cases['capstan', 'P6 1-row pull p50']} us | "
                      f"{cases['tensorflow', 'P6 1-row pull inside a function, mean']} us |", "\n".join(page.readme(document)))

    def test_readmes_table_stays_where_nothing_was_recorded(self):
        with self.assertRaisesRegex(ValueError, "none of deepfm, dense"):
            list(page.readme("<!-- recorded: dense -->\n\nNot measured.\n\n<!-- end of dense -->"))


class LearningTest(unittest.TestCase):

    BARS = {"lr": ("auc", 0.735), "mf": ("rmse", 0.945)}

    def turns(self, example, **seeds):
        return [turn(learning.name_of(learning.Job(example, "sync", int(seed[1:]))), auc=value) for seed, value in seeds.items()]

    def cell(self, example, **seeds):
        return learning.cell(self.turns(example, **seeds), example, "sync", self.BARS)

    def test_a_cell_is_the_median_of_three_seeds(self):
        self.assertEqual(self.cell("lr", s1=0.7381, s2=0.7300, s3=0.7360), "0.7360 (0.7300–0.7381)")

    def test_an_asterisk_misses_the_bar_and_an_error_is_better_when_it_is_less(self):
        self.assertEqual(self.cell("lr", s1=0.7, s2=0.7, s3=0.7381), "0.7000 * (0.7000–0.7381)")
        self.assertEqual(self.cell("mf", s1=0.93, s2=0.94, s3=0.96), "0.9400 (0.9300–0.9600)")
        self.assertEqual(self.cell("mf", s1=0.95, s2=0.94, s3=0.96), "0.9500 * (0.9400–0.9600)")

    def test_two_seeds_are_no_median_of_three(self):
        self.assertEqual(self.cell("lr", s1=0.7381, s3=0.7300), "not measured (2 of 3 seeds)")
        self.assertEqual(self.cell("lr"), "not measured")


class PeerCpuTest(unittest.TestCase):

    def test_a_python_peer_tells_cpu_seconds_for_each_unit_of_work(self):
        told, ticks = [], iter([0, 30, 100, 150])

        class Series:
            def __init__(self):
                self.kept = []

            def run(self, function, value=None):
                result = function()
                self.kept.append((0.0, value(result) if value else 0.5, 0.0))

            def emit(self, peer, workload, case, unit, of=lambda value: value, **detail):
                told.append((unit, detail))

        peerlib = types.SimpleNamespace(Series=Series, own_ticks=lambda: next(ticks))
        with mock.patch.object(peer_cpu, "TICKS", 100):
            peer_cpu.measure_cpu(peerlib)
            bulk = Series()
            bulk.run(lambda: None)
            bulk.emit("peer", "P1", "pull", "GB/s", of=lambda seconds: 2 / seconds)  # 2 GB with 0.3 CPU seconds.
            calls = Series()
            calls.run(lambda: [10.0] * 50, value=max)
            calls.emit("peer", "P6", "p50", "us")  # 50 calls with 0.5 CPU seconds.
        self.assertEqual(told, [("GB/s", {"cpu_per_unit": 0.15}), ("us", {"cpu_per_unit": 0.01})])


class CommandTest(unittest.TestCase):

    # In the place of CAPSTAN_PEERS: what Capstan's own turn (`netns -- ...`) and a peer's (`run tensorflow P1`) print.
    PEERS = """#!/bin/sh
case "$1 $2" in
  "netns --")
    echo 'RESULT {"workload": "P0", "case": "gRPC stream pull, 1 MiB, receiver copies", "unit": "GB/s", "values": [RAW]}'
    echo 'RESULT {"workload": "P1", "case": "dense pull", "unit": "GB/s", "values": [3.0], "cpu_per_unit": 0.5}' ;;
  "run tensorflow") echo '{"workload": "P1", "case": "dense pull 1 x 256 MiB", "unit": "GB/s", "median": 2.0}' ;;
  *) echo "not there" >&2; exit 1 ;;
esac
"""

    def record(self, raw, *arguments, expect=0):
        """What `record dense` writes, and says, with a raw stream of so many GB/s. `expect`: how it ends."""
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            peers, document = folder / "peers", folder / "RESULTS.md"
            peers.write_text(self.PEERS.replace("RAW", str(raw)), encoding="utf-8")
            peers.chmod(0o755)
            document.write_text("<!-- recorded: dense -->\nolder\n<!-- end of dense -->\n", encoding="utf-8")
            done = subprocess.run(
                [sys.executable, "-B", HERE.parent / "record", "dense", "--turns", "2", "--quiet", "1000", "--bin", folder,
                 "--scratch", folder / "bench", "--document", document, *arguments],
                env={**os.environ, "CAPSTAN_PEERS": str(peers)}, stderr=subprocess.PIPE, text=True)
            self.assertEqual(done.returncode, expect, done.stderr)
            return document.read_text(encoding="utf-8"), done.stderr

    def test_the_command_writes_what_the_sides_have_found(self):
        text, said = self.record(4.0)
        self.assertIn("| dense pull, GB/s | 3 | capstan: P0 gRPC stream pull, 1 MiB, receiver copies | 4 | 0.75 | 0.5000 / not told |  | "
                      "≥ 0.7: met | ≥ 0.85: **missed** |", text)
        self.assertIn("| dense pull, GB/s | 3 | tensorflow: P1 dense pull 1 x 256 MiB | 2 | 1.50 | 0.5000 / not told |  | ≥ 1: met | ≥ 1.4: met |", text)
        self.assertIn("- mxnet: not measured", text)
        self.assertIn("mxnet ended with 1:\nnot there", said)
        self.assertNotIn("older", text)

    def test_the_command_writes_no_ratio_above_one_to_the_raw_stream(self):
        text, _ = self.record(2.0)
        self.assertIn("| dense pull, GB/s | not measured | capstan: P0 gRPC stream pull, 1 MiB, receiver copies | not measured |", text)
        self.assertIn("left out: P1 dense pull was faster than P0 gRPC stream pull", text)

    def test_the_command_leaves_the_document_as_it_is_when_nothing_was_measured(self):
        text, said = self.record(4.0, "--minutes", "0.0000001", expect=1)
        self.assertIn("older", text)
        self.assertIn("stays as it is", said)

    def test_the_machine_is_named_even_where_the_processor_is_not(self):
        self.assertEqual(machine.model_name("processor: 0\nmodel name\t: AMD EPYC\n"), "AMD EPYC")
        self.assertEqual(machine.model_name("processor: 0\n"), "a processor without a name")

    def test_every_section_can_be_made_and_its_turns_are_there(self):
        with mock.patch.object(learning, "known", return_value=types.SimpleNamespace(
                BARS={"lr": ("auc", 0.7)}, POLICIES={"sync": ""}, SHARDS=2, WORKERS=3)):
            context = sections.Context("bin", "scratch", peers="peers")
            for name, make in sections.ALL.items():
                section = make(context)
                self.assertEqual(section.name, name)
                self.assertTrue(make.__doc__, name)
                for side in section.sides:
                    scripts = [word for word in side.command if isinstance(word, pathlib.Path) and word.suffix == ".py"]
                    self.assertTrue(all(os.access(script, os.X_OK) for script in scripts), side.command)

    def test_without_the_program_of_the_peers_capstan_is_alone(self):
        context = sections.Context("bin", "scratch", peers=None)
        self.assertEqual([side.name for side in sections.dense(context).sides], ["capstan"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
