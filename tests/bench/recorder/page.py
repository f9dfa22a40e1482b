"""A section of the document: its comparisons, and all that was measured."""

import re

import markers
from compare import Compared
from results import median, show, spread
from turns import WANTED, Measured, cases_of

COLUMNS = ["what", "Capstan", "against", "theirs", "ratio", "CPU s a unit", "by CPU", "bar", "goal"]


def table(head, rows):
    yield "| " + " | ".join(head) + " |"
    yield "|---" * len(head) + "|"
    for row in rows:
        yield "| " + " | ".join(row) + " |"


def comparisons(section, turns):
    first = section.sides[0].name
    found = [Compared(row, turns, first, section.wanted) for row in section.rows]
    return [one for one in found if one.known]


def rows_without_a_case(section, turns):
    """A sentence for each comparison whose pattern fits nothing that its side has measured: its name is wrong."""
    for row in section.rows:
        side = row.of or section.sides[0].name
        cases = cases_of(turns, side)
        if cases and not any(re.fullmatch(row.ours, case) for case in cases):
            yield f"- **{row.what}: not compared**, as {side} has no case that is called `{row.ours}`."


def every_case(section, turns):
    """All cases of all sides, with each run that counts: the reader can make medians of his own."""
    for side in section.sides:
        for case in cases_of(turns, side.name):
            one = Measured(turns, side.name, case, section.wanted)
            runs = ", ".join(show(value) for value in one.values) or f"not measured: {one.quiet} quiet of {one.taken}"
            yield [side.name, case, one.unit, spread(one.values), runs, cpu_seconds(one)]


def cpu_seconds(measured):
    """`0.57 (0.55–0.58): client 0.21, servers 0.36`"""
    if not measured.cpus:
        return ""
    ends = ", ".join(f"{end} {show(value)}" for end, value in measured.ends.items())
    return spread(measured.cpus) + (f": {ends}" if ends else "")


def account(section, turns):
    """A sentence for each side: how many turns, what they cost, why some do not count."""
    for side in section.sides:
        own = [turn for turn in turns if turn.side == side.name]
        if not own:
            yield f"- {side.name}: not measured: its command failed, or was not run."
            continue
        rejected = [turn.rejected for turn in own if turn.rejected]
        quiet = len(own) - len(rejected)
        verdict = "" if quiet >= section.wanted else " So it has no wall times: **CPU seconds only**."
        reasons = f"; left out: {', '.join(rejected)}" if rejected else ""
        yield (f"- {side.name}: {quiet} quiet turns of {len(own)}, of {show(median([turn.wall for turn in own]))} s each, and "
               f"{show(median([turn.cpu for turn in own]))} CPU seconds of all its processes{reasons}.{verdict}")


def render(section, turns, conditions):
    """As Markdown. `conditions`: a line that says when, what and where."""
    yield conditions
    yield ""
    found = comparisons(section, turns)
    if found:
        yield from table(COLUMNS, [one.cells() for one in found])
        yield ""
    yield from table(["side", "case", "unit", "median (range)", "median of each quiet turn", "CPU s a unit, all turns"],
                     every_case(section, turns))
    yield ""
    yield from account(section, turns)
    yield from rows_without_a_case(section, turns)


# What, section, our cases, those of TensorFlow's parameter server, whether less is better, unit.
README_ROWS = (
    ("pull of embedding rows, 64 floats, batches of 10,000", "sparse", "P2 sparse pull uniform.*", "P2 sparse pull uniform.*", False, "M rows/s"),
    ("push of their gradients, Adagrad", "sparse", "P3 sparse push Adagrad uniform.*", "P3 sparse push Adagrad uniform.*", False, "M rows/s"),
    ("pull of 256 MiB dense", "dense", "P1 dense pull", "P1 dense pull .*", False, "GB/s"),
    ("push of 256 MiB dense, SGD", "dense", "P1 dense push SGD", "P1 dense push SGD .*", False, "GB/s"),
    ("pull of one row, median", "latency", "P6 1-row pull p50", "P6 1-row pull inside a function, mean", True, "us"),
    ("DeepFM, one shard and one worker with 1 thread a step", "deepfm", r"P4 DeepFM 1 PS \+ 1 worker, 1 thread a step",
     r"P4 DeepFM 1 PS \+ 1 workers, . steps per dispatch", False, "examples/s"),
    ("the same with 2 threads a step", "deepfm", r"P4 DeepFM 1 PS \+ 1 worker, 2 threads a step",
     r"P4 DeepFM 1 PS \+ 1 workers, . steps per dispatch", False, "examples/s"))

CONDITIONS = re.compile(r"`tests/bench/record (\w+)`, (\S+) \S+ UTC, commit ([^;]+); .* (\d+) quiet turns a side", re.MULTILINE)


def cases_in(section):
    """{(side, case): median} of a section as it stands in the document; a case that was not measured is not there."""
    found = {}
    for line in section.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        number = re.match(r"[\d,.]+", cells[3]) if len(cells) == 6 else None
        if number:
            found[cells[0].strip(), cells[1]] = number[0]
    return found


def readme(document):
    """README's table, of what the document says. What is not there was not measured, and no older number stands in for it."""
    def cell(section, side, pattern, less, unit):
        values = [value for (of, case), value in cases_in(markers.content(document, section)).items()
                  if of == side and re.fullmatch(pattern, case)]
        best = (min if less else max)(values, key=lambda value: float(value.replace(",", "")), default=None)
        return "not measured" if best is None else f"{best} {unit}"

    sections = sorted({row[1] for row in README_ROWS})
    recorded = [found for name in sections if (found := CONDITIONS.search(markers.content(document, name)))]
    if not recorded:
        raise ValueError(f"none of {', '.join(sections)} has been recorded")
    whens = "; ".join(f"{found[1]}: {found[2]}, {found[3]}" for found in recorded)
    yield f"Medians of {min(int(found[4]) for found in recorded)} quiet turns, with the day and the commit of each section: {whens}."
    yield ""
    yield from table(["", "Capstan", "TensorFlow PS"],
                     [[what, cell(section, "capstan", ours, less, unit), cell(section, "tensorflow", theirs, less, unit)]
                      for what, section, ours, theirs, less, unit in README_ROWS])
