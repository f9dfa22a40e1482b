#!/usr/bin/env python3
"""docs/metrics.md is what docs/generate_metrics makes of the declarations of metrics, and of these none can be missed."""
import importlib.machinery
import importlib.util
import pathlib
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
LOADER = importlib.machinery.SourceFileLoader("generate_metrics", str(ROOT / "docs" / "generate_metrics"))
generate = importlib.util.module_from_spec(importlib.util.spec_from_loader(LOADER.name, LOADER))
sys.modules[LOADER.name] = generate  # Data classes look their module up.
LOADER.exec_module(generate)

GOOD = '''
inline constexpr metrics::CounterDeclaration kPushes = {
    .name = "capstan_pushes_total",
    .help = "Push requests; a \\"late\\" one "
            "counts | as well.",
    .labels = "code, op",
    .when = "with ssp",
    .normal = "grows"};
constexpr GaugeDeclaration kRows = {.name = "capstan_rows", .help = "Rows."};
'''


class GenerateMetricsTest(unittest.TestCase):
    def test_the_page_is_what_the_declarations_make(self):
        metrics, faults = generate.declared()
        self.assertEqual(faults, [])
        page = generate.PAGE.read_text(encoding="utf-8")
        self.assertEqual(generate.filled(page, metrics), page, "run docs/generate_metrics")

    def test_every_service_declares_metrics_and_no_two_have_one_name(self):
        metrics, _ = generate.declared()
        self.assertTrue(all(metrics.values()))
        names = [metric.name for those in metrics.values() for metric in those]
        self.assertEqual(len(names), len(set(names)))

    def test_a_declaration_becomes_a_row(self):
        metrics, faults = generate.declared_in(GOOD, "x.h")
        self.assertEqual(faults, [])
        self.assertEqual([metric.row() for metric in metrics], [
            r'| `capstan_pushes_total` (with ssp) | counter | code, op | Push requests; a "late" one counts \| as well. | grows |',
            "| `capstan_rows` | gauge | | Rows. | |"])

    def test_a_declaration_of_another_form_is_refused_with_its_line(self):
        form = "a declaration of a metric is a constant whose fields are texts"
        for said in ("kPushes = {.name = NameOf(1), .help = \"Pushes.\"};", "kPushes = {\"capstan_pushes_total\", \"Pushes.\"};",
                     "kPushes = {.name = \"capstan_pushes_total\", .meaning = \"Pushes.\"};", "pushes{};"):
            source = "// A line.\n\nconstexpr metrics::CounterDeclaration " + said
            self.assertEqual(generate.declared_in(source, "x.h"), ([], [f"x.h:3: {form}"]), said)

    def test_a_metric_that_is_added_without_a_declaration_is_refused(self):
        for said in ('{"capstan_pushes_total", "Pushes."}', 'metrics::CounterDeclaration{"capstan_pushes_total"}'):
            _, faults = generate.declared_in(f"\nregistry.AddCounter(\n    {said});", "x.cc")
            self.assertEqual(faults, ["x.cc:2: a metric is added without a declaration of its own"])
        self.assertEqual(generate.declared_in('registry.AddCounter(kPushes, {{"code", "OK"}});', "x.cc"), ([], []))

    def test_a_metric_that_nothing_adds_is_named(self):
        metrics, _ = generate.declared_in(GOOD, "x.h")
        self.assertEqual(generate.unused(metrics, [GOOD, "AddCounter(kPushes);"], "services/ps"),
                         ["services/ps: capstan_rows is declared, and nothing adds it"])

    def test_help_is_made_of_sentences_and_labels_are_in_order(self):
        for said, by in (("help", "no help that is made of whole sentences"), ("labels", "its labels out of alphabetical order")):
            source = GOOD.replace('"Rows."', '"rows"').replace('"code, op"', '"op, code"')
            self.assertEqual(sum(by in fault for fault in generate.declared_in(source, "x.h")[1]), 1, said)

    def test_what_is_outside_the_tables_stays(self):
        metrics, _ = generate.declared_in(GOOD, "x.h")
        begin = generate.BEGIN.format("ps")
        page = f"# Metrics\n\n{begin}\nold\n{generate.END}\n\nProse.\n"
        made = generate.filled(page, {"ps": metrics[1:]})
        self.assertEqual(made, f"# Metrics\n\n{begin}\n\n{generate.HEAD}\n| `capstan_rows` | gauge | | Rows. | |\n\n"
                               f"{generate.END}\n\nProse.\n")
        with self.assertRaises(ValueError):
            generate.filled("# Metrics\n", {"ps": metrics})


if __name__ == "__main__":
    unittest.main()
