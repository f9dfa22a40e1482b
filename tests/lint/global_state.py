"""Which variables of services/ live as long as the process and may change, and why each of them does. Whatever else a function
needs it is given by who calls it, so that a test, or two jobs in one process, have their own."""

import re

# "file: variable": why there is one of it in a process.
REASONS = {
    "services/capstan/base/failpoint.h: entry": "the linker gathers the points of a program by it; only builds for tests have any",
    "services/capstan/base/failpoint.h: point": "a failpoint is armed by the environment before main; only builds for tests have any",
    "services/capstan/base/glob_pattern.cc: unlisted": "what glob() calls is given nothing of its caller's but a path",
    "services/capstan/base/log.cc: process": "a process has one log, which its last thread may write to",
    "services/capstan/base/shutdown.cc: before_exit": "a handler of signals can be given no argument",
    "services/capstan/base/shutdown.cc: first_signal": "a handler of signals can be given no argument",
    "services/capstan/base/shutdown.cc: former_actions": "signals are the process's",
    "services/capstan/base/shutdown.cc: signal_fd": "a handler of signals can be given no argument",
    "services/capstan/base/steady_waits.cc: next_syscall": "it stands for the C library's syscall(), of which there is one",
    "services/capstan/base/trace.cc: process": "a process has one trace, which main opens and any thread may write to",
    "services/capstan/http/curl_http.cc: once": "libcurl is initialised once a process",
    "services/capstan/model/tower.cc: factories": "towers that are linked add themselves before main; only read afterwards",
    "services/capstan/objectstore/file_writer.cc: count": "no two temporary files of a process may have one name",
    "services/capstan/objectstore/measured_object_store.cc: measured": "stores are opened by address deep below main, and all are measured",
    "services/capstan/optim/optimizer_description.cc: registered": "optimizers that are linked add themselves before main; only read afterwards",
    "services/cli/status/keys.cc: cooked": "a handler of signals can be given no argument, and puts the terminal back",
    "services/cli/status/keys.cc: raw_terminal": "a handler of signals can be given no argument, and puts the terminal back",
    "services/capstan/store/table.cc: work": "scratch of one update: each of forty tables in each of 256 partitions would keep its own",
}

PREFIX = r"(?:\[\[[^\]]*\]\] |inline |extern |ABSL_CONST_INIT |constinit |volatile )*"
NAME = r"\b(?!operator\b)([a-z]\w*)(?: ABSL_\w+\([^)]*\))?"
# Of a function, or of a class: indented, and said to be static. What is called begins with a capital.
LOCAL = re.compile(rf"\s+{PREFIX}(?:static|thread_local)\b (?:static |thread_local )?([^(={{;]*?){NAME}(?:\[\w*\])?(?: ?[={{;]|\()")
# Outside of functions: lines that begin a definition are not indented.
OUTSIDE = re.compile(rf"{PREFIX}(?:static |thread_local )?((?!using\b|typedef\b|namespace\b|return\b|template\b|friend\b|class\b|enum\b|struct \w+ (?:final|:))"
                     rf"[A-Za-z_][^(={{;#]*?[ &*>]){NAME}(?:\[\w*\])?(?: ?[={{;])")


def is_constant(kind):
    """Whether a variable of this type cannot change: a pointer may, unless it is constant itself."""
    kind = re.sub(r"\b(?:static|inline|constinit) ", "", kind.strip() + " ").strip()
    if kind.startswith("constexpr"):
        return True
    return kind.endswith("const") if "*" in kind else bool(re.match(r"const\b", kind))


def variables_of(text):
    """The names of the variables of a file that last and may change."""
    for line in text.splitlines():
        bare = re.sub(r'"(?:[^"\\]|\\.)*"', '""', re.sub(r"//.*", "", line))
        found = LOCAL.match(bare) or OUTSIDE.match(bare)
        if found and not is_constant(found[1]):
            yield found[2]


def global_state(tree, reasons=None):
    reasons = REASONS if reasons is None else reasons
    found = {f"{name}: {variable}" for name, text in tree.code.items() for variable in variables_of(text)}
    for one in sorted(found - set(reasons)):
        yield f"{one} lasts as long as the process and may change, and tests/lint/global_state.py gives no reason for it"
    for one in sorted(set(reasons) - found):
        yield f"tests/lint/global_state.py: {one} is gone, or constant by now"
