"""Writes into docs/job-yaml.md what values each key takes, as the reader of job files says (`capstan config keys`).

    tests/lint/job_keys.py build/dev/bin/capstan

A table of keys has the columns key, values, default and meaning; of a row that has no cell of values yet, as of a new key, one is made.
unit_config (documented_keys_test.cc) compares the page with the reader."""

import pathlib
import re
import subprocess
import sys

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs/job-yaml.md"
HEADS = ("| key | default | meaning |", "| key | values | default | meaning |")


def values_of(lines):
    """{key: its values} of what the command prints; of the two parts of a model, which have nearly the same keys, also as `<part>`."""
    found = {}
    for line in lines:
        key, values = line.split("  ", 1)
        values = re.split("; (?:default |required$)", values)[0]
        found[key] = found[re.sub(r"^(optimizer|update)\.(dense|sparse)\.", r"\1.<part>.", key)] = values
    return found


def fill(page, values):
    """The page with the values in their cells. A row whose key nobody knows stays as it is."""
    lines = page.split("\n")
    for number, line in enumerate(lines):
        if line == HEADS[0]:
            lines[number:number + 2] = [HEADS[1], "|---|---|---|---|"]
        cells = re.split(r"(?<!\\)\|", line)
        key = cells[1].strip(" `") if len(cells) > 2 else ""
        if key in values and len(cells) in (5, 6):
            lines[number] = "|".join([*cells[:2], f" {values[key]} ", *cells[-3:]])
    return "\n".join(lines)


if __name__ == "__main__":
    listed = subprocess.run([sys.argv[1], "config", "keys"], check=True, capture_output=True, text=True).stdout.splitlines()
    PAGE.write_text(fill(PAGE.read_text(), values_of(listed)))
