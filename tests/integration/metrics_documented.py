#!/usr/bin/env python3
"""Compares docs/metrics.md with what a live job exports, both ways.

    metrics_documented.py docs/metrics.md chief=chief.txt ps=ps-0.txt worker=worker-0.txt ...

Each file holds one scrape of a process of that role. Prints a line a difference (name, type, labels, help, role);
exit code 0: none, 1: some, 2: bad usage. The page's meaning of a metric of ours is its help. A metric with words in brackets behind its name need not be there.
"""
import re
import sys

SECTIONS = {"Every process": ("chief", "ps", "worker"), "Chief": ("chief",), "PS shard": ("ps",),
            "Worker": ("worker",), "Serve": ("serve",)}
ROW = re.compile(r"\| `(?P<name>\w+)`(?P<when>[^|]*)\| (?P<type>\w+) \|(?P<labels>[^|]*)\|(?P<meaning>[^|]*)\|")


def meanings(page):
    """{name: what the page says that it is}"""
    return {row["name"]: row["meaning"].strip() for row in map(ROW.match, page.splitlines()) if row}


def helps(scrape):
    """{name: its help} of one scrape."""
    return dict(re.findall(r"^# HELP (\w+) (.*)$", scrape, re.MULTILINE))


def documented(page):
    """{role: {name: (type, labels, always)}}"""
    roles = {role: {} for role in ("chief", "ps", "worker", "serve")}
    section = ()
    for line in page.splitlines():
        if line.startswith("## "):
            section = SECTIONS[line[3:]]
        row = ROW.match(line)
        if not row:
            continue
        labels = frozenset(filter(None, row["labels"].replace(" ", "").split(",")))
        for role in section:
            roles[role][row["name"]] = (row["type"], labels, not row["when"].strip())
    return roles


def exported(scrape):
    """{name: (type, labels)} of one scrape; `le` and `quantile` belong to the type."""
    types = dict(re.findall(r"^# TYPE (\w+) (\w+)$", scrape, re.MULTILINE))
    metrics = {}
    for name, labels in re.findall(r"^(\w+)(?:\{(.*)\})? \S+$", scrape, re.MULTILINE):
        base = re.sub(r"_(bucket|count|sum)$", "", name)
        name = base if types.get(base) in ("histogram", "summary") else name
        names = set(re.findall(r'(\w+)="(?:[^"\\]|\\.)*"', labels)) - {"le", "quantile"}
        metrics.setdefault(name, (types.get(name, "untyped"), frozenset(names)))
    return metrics


def differences(page, scrapes):
    """Lines for people. `scrapes`: [(role, text)]."""
    lines = set()
    pages, words = documented(page), meanings(page)
    seen = {role: set() for role in pages}
    for role, scrape in scrapes:
        for name, said in helps(scrape).items():
            if name.startswith("capstan_") and name in words and words[name] != said:
                lines.add(f"{role}: the help of {name} is {said!r}, the page says {words[name]!r}")
        for name, (kind, labels) in exported(scrape).items():
            seen[role].add(name)
            if name not in pages[role]:
                lines.add(f"{role}: {name} is exported but not documented")
                continue
            want_kind, want_labels, _ = pages[role][name]
            if kind != want_kind:
                lines.add(f"{role}: {name} is a {kind}, documented as a {want_kind}")
            if labels != want_labels:
                lines.add(f"{role}: {name} has the labels {sorted(labels)}, documented {sorted(want_labels)}")
    for role in {role for role, _ in scrapes}:
        for name, (_, _, always) in pages[role].items():
            if always and name not in seen[role]:
                lines.add(f"{role}: {name} is documented but not exported")
    return sorted(lines)


def main(arguments):
    if len(arguments) < 2 or not all(re.match(r"(chief|ps|worker)=", a) for a in arguments[1:]):
        print(__doc__, file=sys.stderr)
        return 2
    with open(arguments[0], encoding="utf-8") as page:
        text = page.read()
    scrapes = []
    for argument in arguments[1:]:
        role, path = argument.split("=", 1)
        with open(path, encoding="utf-8") as scrape:
            scrapes.append((role, scrape.read()))
    lines = differences(text, scrapes)
    print("\n".join(lines) if lines else f"{len(scrapes)} processes export what is documented")
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
