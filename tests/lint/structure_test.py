"""Each check of tests/lint/structure.py finds what it is for, in a project of a few files, and nothing there without it."""

import functools
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))
import comments
import cycles
import global_state
import structure

MAP = """# Services
| library | what it is | door to |
|---|---|---|
| `capstan/base` | what all need | spdlog |
| `capstan/data` | records | zlib |

| folder | what it is |
|---|---|
| `capstan/data/formats` | lines |
| `capstan/data/tasks` | ranges |
| `ps/shard` | the shard |
| `chief/state` | what it knows |
| `chief/work` | who does what |

## Later
| `capstan/none` | is no part of the map | |
"""
FILES = {
    "services/README.md": MAP,
    "services/capstan/base/log.h": "#ifndef CAPSTAN_BASE_LOG_H_\nvoid Write(int level);\n",
    "services/capstan/base/log.cc": '#include "capstan/base/log.h"\n#include <spdlog/spdlog.h>\nvoid Write(int level) {}\n',
    "services/capstan/base/CMakeLists.txt": "capstan_library(base HDRS log.h SRCS log.cc)\n",
    "services/chief/state/view.h": '#ifndef CAPSTAN_CHIEF_STATE_VIEW_H_\n#include "capstan/base/log.h"\n',
    "services/chief/state/CMakeLists.txt": "capstan_library(chief_state HDRS view.h DEPS capstan::base)\n",
    "services/chief/work/work.h": '#ifndef CAPSTAN_CHIEF_WORK_WORK_H_\n#include "chief/state/view.h"\n'
                                  "inline void Begin() { Write(1); }\ninline void Go() { Begin(); Go(); }\n",
    "services/chief/work/CMakeLists.txt": "capstan_library(chief_work HDRS work.h DEPS capstan::chief_state)\n",
    "services/chief/work/rank.cc": "int Rank(bool first) { return first ? 1 : 2; }\n",
    "services/chief/work/order.cc": "int Order() { return 1; }  // Decides nothing, if asked.\n",
    "tests/unit/chief/rank_test.cc": "",
    "tests/unit/chief/work_test.cc": '#include "chief/work/work.h"\n',
    "tests/unit/chief/CMakeLists.txt": "capstan_test(unit_chief SRCS rank_test.cc work_test.cc DEPS capstan::chief_work)\n",
}


def found(check, **changed):
    """What a check says of the project above with some files otherwise, or more of them."""
    with tempfile.TemporaryDirectory() as root:
        for name, text in {**FILES, **changed}.items():
            path = pathlib.Path(root) / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        return list(check(structure.Tree(root)))


class StructureTest(unittest.TestCase):
    def finds(self, check, words, name, text):
        self.assertEqual(found(check), [], "nothing is wrong yet")
        lines = found(check, **{name: text})
        self.assertEqual(len(lines), 1, lines)
        self.assertIn(words, lines[0])

    def test_a_folder_that_includes_one_below_it_is_found(self):
        self.finds(structure.layers, "which the map does not put above it", "services/chief/state/early.cc",
                   '#include "chief/work/work.h"\n')

    def test_a_library_that_includes_a_service_is_found(self):
        self.finds(structure.layers, "which the map does not put above it", "services/capstan/data/formats/lines.cc",
                   '#include "chief/state/view.h"\n')

    def test_a_service_that_includes_another_is_found(self):
        self.finds(structure.layers, "a service includes another one", "services/ps/shard/shard.cc",
                   '#include "chief/state/view.h"\n')

    def test_a_second_door_is_found(self):
        self.finds(structure.doors, "chief/state is no door to spdlog", "services/chief/state/log.cc",
                   "#include <spdlog/spdlog.h>\n")

    def test_the_folders_of_a_library_have_its_door(self):
        self.assertEqual(found(structure.doors, **{"services/capstan/data/formats/gzip.cc": "#include <zlib.h>\n"}), [])

    def test_what_is_included_and_not_among_the_deps_is_found(self):
        self.finds(structure.dependencies, "which is not among its DEPS", "services/chief/state/CMakeLists.txt",
                   "capstan_library(chief_state HDRS view.h)\n")

    def test_a_dep_that_nothing_is_included_of_is_found(self):
        self.finds(structure.dependencies, "includes nothing of base", "services/chief/work/CMakeLists.txt",
                   "capstan_library(chief_work HDRS work.h DEPS capstan::chief_state capstan::base)\n")

    def test_a_guard_that_is_not_the_path_is_found(self):
        self.finds(structure.guards, "not CAPSTAN_CHIEF_STATE_VIEW_H_", "services/chief/state/view.h",
                   '#ifndef CAPSTAN_CHIEF_VIEW_H_\n#include "capstan/base/log.h"\n')

    def test_a_test_that_nobody_compiles_is_found(self):
        self.finds(structure.tests, "nobody compiles it", "tests/unit/chief/forgotten_test.cc", "")

    def test_a_source_that_decides_something_and_has_no_test_of_its_name_is_found(self):
        self.finds(structure.tested, "order.cc: decides something, and there is no order_test.cc", "services/chief/work/order.cc",
                   "int Order(bool last) { return last ? 2 : 1; }\n")

    def test_two_types_of_one_name_in_one_namespace_are_found(self):
        one = {"services/chief/state/rows.h": "namespace capstan {\nstruct Rows {\n};\n}  // namespace capstan\n"}
        for namespace, told in (("namespace capstan {", 1), ("namespace capstan::chief {", 0), ("namespace {", 0)):
            other = {"services/chief/work/rows.h": f"{namespace}\nclass Rows final {{\n}};\n}}  // namespace\n"}
            lines = found(structure.types, **one, **other)
            self.assertEqual(lines, ["capstan::Rows is defined in services/chief/state/rows.h and in services/chief/work/rows.h"][:told])

    def test_a_function_without_a_caller_is_found(self):
        self.finds(structure.callers, "nothing that includes it calls Forgotten", "services/chief/state/view.h",
                   '#ifndef CAPSTAN_CHIEF_STATE_VIEW_H_\n#include "capstan/base/log.h"\nvoid Forgotten(int x);\n')

    def test_a_function_is_not_called_where_another_of_its_name_is_or_where_it_is_said_in_a_comment_or_a_text(self):
        self.finds(structure.callers, "view.h: nothing that includes it calls twin", "services/chief/state/view.h",
                   '#ifndef CAPSTAN_CHIEF_STATE_VIEW_H_\n#include "capstan/base/log.h"\n  int twin() const { return 1; }  // twin()\n'
                   'inline const char* kSays = "twin";\n')
        other = {"services/capstan/data/twin.cc": "int Twin() { return other.twin(); }\n"}
        twin = {"services/chief/state/view.h": '#ifndef CAPSTAN_CHIEF_STATE_VIEW_H_\n#include "capstan/base/log.h"\nint twin() const;\n'}
        self.assertEqual(len(found(structure.callers, **twin, **other)), 1, "it does not include the header")

    def test_a_caller_may_include_a_header_through_others_and_be_the_module_of_python(self):
        twin = {"services/chief/state/view.h": '#ifndef CAPSTAN_CHIEF_STATE_VIEW_H_\n#include "capstan/base/log.h"\nint twin() const;\n'}
        for caller in ("services/chief/work/rank.cc", "python/src/module.cc"):
            text = {caller: '#include "chief/work/work.h"\nint Rank(bool first) { return first ? view.twin() : 2; }\n'}
            self.assertEqual(found(structure.callers, **twin, **text), [], caller)

    def test_what_is_called_by_the_name_of_its_base_needs_no_caller_of_its_own(self):
        self.assertEqual(found(structure.callers, **{
            "services/chief/state/view.h": '#ifndef CAPSTAN_CHIEF_STATE_VIEW_H_\n#include "capstan/base/log.h"\n'
                                           '  Reactor* Answer(\n      const Call& call) override;\n'}), [])

    def test_headers_that_include_each_other_are_found(self):
        lines = found(cycles.cycles, **{"services/chief/state/one.h": '#include "chief/state/two.h"\n',
                                        "services/chief/state/two.h": '#include "chief/state/one.h"\n'})
        self.assertIn("headers include each other: services/chief/state/one.h -> services/chief/state/two.h -> "
                      "services/chief/state/one.h", lines)

    def test_units_that_include_each_other_are_found_unless_there_is_a_reason(self):
        files = {"services/chief/state/one.h": "int One();\n", "services/chief/state/one.cc": '#include "chief/state/two.h"\n',
                 "services/chief/state/two.h": '#include "chief/state/one.h"\n'}
        without = functools.partial(cycles.cycles, reasons={})
        self.assertEqual(found(without), [])
        self.assertEqual(found(without, **files), ["units include each other, and tests/lint/cycles.py gives no reason for it: "
                                                   "services/chief/state/one -> services/chief/state/two -> services/chief/state/one"])
        excused = functools.partial(cycles.cycles, reasons={"services/chief/state/one": "it makes the others"})
        self.assertEqual(found(excused, **files), [])
        self.assertEqual(found(excused), ["tests/lint/cycles.py: services/chief/state/one is in no cycle any more"])

    def test_what_lasts_as_long_as_the_process_and_may_change_is_found_unless_there_is_a_reason(self):
        for text in ("int count = 0;", "std::atomic<int> count{0};", "inline absl::Mutex count;", "const char* count = nullptr;",
                     "struct sigaction count[8];", "int count ABSL_GUARDED_BY(mu) = 0;", "void F() {\n  static int count = 0;\n}",
                     "void F() {\n  static std::vector<int> count(3);\n}", "void F() {\n  thread_local std::string count;\n}",
                     "void F() {\n  static auto& count = *new std::map<int, int>;\n}", "class A {\n  static inline int count;\n};"):
            with self.subTest(text):
                files = {"services/chief/state/state.cc": text + "\n"}
                lines = found(functools.partial(global_state.global_state, reasons={}), **files)
                self.assertEqual(lines, ["services/chief/state/state.cc: count lasts as long as the process and may change, and "
                                         "tests/lint/global_state.py gives no reason for it"])
                excused = functools.partial(global_state.global_state, reasons={"services/chief/state/state.cc: count": "it counts"})
                self.assertEqual(found(excused, **files), [])
                self.assertEqual(found(excused), ["tests/lint/global_state.py: services/chief/state/state.cc: count is gone, or constant by now"])

    def test_constants_and_functions_are_no_state(self):
        for text in ("constexpr int kCount = 0;", "const Kernels count = {", "const char* const count = nullptr;", "int count();",
                     "enum class Count : int {", "void F() {\n  static const auto& count = *new std::map<int, int>;\n}",
                     "class A final {\n  static int Count(int x) {\n  static constexpr int kMost = 3;\n};", "// int count = 0;"):
            with self.subTest(text):
                self.assertEqual(found(functools.partial(global_state.global_state, reasons={}),
                                       **{"services/chief/state/state.cc": text + "\n"}), [])

    def test_a_comment_that_begins_with_of_is_found(self):
        for text in ("int a;  // Of a view.\n", "// Of a view.\nint a;\n", "int a;\n  // Of\n  // a view.\n"):
            with self.subTest(text):
                self.finds(comments.comments, 'a comment begins with "Of"', "services/chief/state/words.h", text)
        self.finds(comments.comments, "proto/v1/view.proto:1", "proto/v1/view.proto", "uint64 a = 1;  // Of a view.\n")

    def test_a_line_within_a_comment_may_begin_with_of(self):
        text = "// Counts rows.\n// Of a view nothing is counted.\nint a;  // Often 0.\n"
        self.assertEqual(found(comments.comments, **{"services/chief/state/words.h": text}), [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
