"""What is written where: the document and its markers, what was kept, README, and the command as a whole."""

import importlib.util
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import types
import unittest
from unittest import mock

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import learning
import frame
import machine
import markers
import page
import processors
import sections
import store
from a_turn import BUSY, turn
from compare import Row
from turns import Side

# Debian's Python has a module of that name, too.
peer_cpu_spec = importlib.util.spec_from_file_location("peer_cpu", HERE.parent / "peer_cpu" / "sitecustomize.py")
peer_cpu = importlib.util.module_from_spec(peer_cpu_spec)
peer_cpu_spec.loader.exec_module(peer_cpu)


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
        self.assertEqual(markers.sections((frame.ROOT / "README.md").read_text(encoding="utf-8")), ["speed"])


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
        return frame.Section("dense", [Side("capstan", []), Side("peer", [])], [Row("pull, GB/s", "pull", [("peer", "pull")], 1, 2)],
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

    def test_a_comparison_that_fits_no_case_is_told(self):
        section = frame.Section("plan", [Side("capstan", [])], [Row("fm 1 + 1", "fm 1 + 1: off", 1.25, 1, less=True)])
        text = "\n".join(page.render(section, [turn("capstan", **{"fm 1 + 1: off": 1.1})], "today, here"))
        self.assertIn("- **fm 1 + 1: not compared**, as capstan has no case that is called `fm 1 + 1: off`.", text)

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
        document = (frame.ROOT / "tests/bench/RESULTS.md").read_text(encoding="utf-8")
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

    def test_the_command_that_is_asked_to_end_ends_the_turn_under_way(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            peers, document, pid = folder / "peers", folder / "RESULTS.md", folder / "pid"
            peers.write_text(f"#!/bin/sh\necho $$ >{pid}.new\nmv {pid}.new {pid}\nexec sleep 600\n", encoding="utf-8")
            peers.chmod(0o755)
            document.write_text("<!-- recorded: dense -->\n<!-- end of dense -->\n", encoding="utf-8")
            with subprocess.Popen(
                    [sys.executable, "-B", HERE.parent / "record", "dense", "--bin", folder, "--scratch", folder / "bench",
                     "--document", document], env={**os.environ, "CAPSTAN_PEERS": str(peers)}, stderr=subprocess.PIPE, text=True) as record:
                while not pid.exists():
                    self.assertIsNone(record.poll(), "it has ended by itself")
                    time.sleep(0.02)
                record.terminate()
                said = record.communicate(timeout=30)[1]
            self.assertIn("record: interrupted", said)
            self.assertFalse(pathlib.Path("/proc", pid.read_text(encoding="ascii").strip()).exists(), "the turn goes on")

    def test_the_machine_is_named_even_where_the_processor_is_not(self):
        self.assertEqual(machine.model_name("processor: 0\nmodel name\t: AMD EPYC\n"), "AMD EPYC")
        self.assertEqual(machine.model_name("processor: 0\n"), "a processor without a name")

    def test_every_section_can_be_made_and_its_turns_are_there(self):
        with mock.patch.object(learning, "known", return_value=types.SimpleNamespace(
                BARS={"lr": ("auc", 0.7)}, POLICIES={"sync": ""}, SHARDS=2, WORKERS=3)):
            context = frame.Context("bin", "scratch", peers="peers")
            for name, make in sections.ALL.items():
                section = make(context)
                self.assertEqual(section.name, name)
                self.assertTrue(make.__doc__, name)
                for side in section.sides:
                    scripts = [word for word in side.command if isinstance(word, pathlib.Path) and word.suffix == ".py"]
                    self.assertTrue(all(os.access(script, os.X_OK) for script in scripts), side.command)

    def test_without_the_program_of_the_peers_capstan_is_alone(self):
        context = frame.Context("bin", "scratch", peers=None)
        self.assertEqual([side.name for side in sections.dense(context).sides], ["capstan"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
