"""Which tests the documents name, and which of them there are none of."""

import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCUMENTS = ("docs/bad-input.md", "docs/kubernetes-checks.md", "SECURITY.md")
CPP = re.compile(r"\bTEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\s*\)")
PYTHON = re.compile(r"^    def test_(\w+)", re.MULTILINE)


def known_tests(root=ROOT):
    """(suites, {(suite, test)}, tests written in Python without `test_`)."""
    cpp = {pair for path in (root / "tests").rglob("*.cc") for pair in CPP.findall(path.read_text())}
    python = {name for path in (root / "tests").rglob("*_test.py") for name in PYTHON.findall(path.read_text())}
    return {suite for suite, _ in cpp}, cpp, python


def unknown(text, known):
    """The names in a document's tables that look like a test's and are none's: `Suite`, `Suite.Test`, `.Test` of the suite before
    it, `file: test`, `.test` of the file before it."""
    suites, cpp, python = known
    wrong = []
    for line in text.splitlines():
        if not line.startswith("|"):
            continue
        suite = None
        for name in re.findall(r"`([^`]+)`", line):
            if found := re.fullmatch(r"(\w+Test)(?:\.(\w+))?", name):
                suite = found[1]
                good = (suite, found[2]) in cpp if found[2] else suite in suites
            elif found := re.fullmatch(r"\.([A-Z]\w+)", name):
                good = (suite, found[1]) in cpp
            elif found := re.fullmatch(r"(?:[\w/]+: |\.)([a-z]\w*_\w+)", name):
                good = found[1] in python
            else:
                continue
            if not good:
                wrong.append(name)
    return wrong
