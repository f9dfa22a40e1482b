"""See `drill`, which starts the cluster and then this."""

import argparse
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "e2e")]
import brief
import drill_table
import lasting
from cluster import require_cluster
from cluster_prometheus import ClusterPrometheus


PARTS = {"brief": brief, "lasting": lasting}


def drills(part, word):
    """[(name, namespace, speed of the rules, what runs it with a Prometheus: rows)]"""
    if part == "brief":
        return [(policy, brief.namespace_of(policy), 1, lambda prometheus, policy=policy: brief.Drill(policy, prometheus).run())
                for policy in brief.POLICIES if word in policy]
    return [(kind.name, lasting.namespace_of(kind), lasting.SPEED, lambda prometheus, kind=kind: [kind().run(prometheus)])
            for kind in lasting.TROUBLES if word in kind.name]


def run(part, word):
    """Its rows, and what went wrong: the other drills are run all the same."""
    rows, failures = [], []
    chosen = drills(part, word)
    with ClusterPrometheus([(namespace, "ctr", speed) for _, namespace, speed, _ in chosen]) as prometheus:
        for name, _, _, drill in chosen:
            try:
                rows += drill(prometheus)
            except AssertionError as error:
                failures.append(f"{name}: {error}")
    return rows, failures


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--part", choices=PARTS, help="what mends itself, or what lasts; default: both")
    parser.add_argument("--only", default="", help="drills whose name has this word in it")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/kubernetes-checks.md")
    given = parser.parse_args()
    if given.write and given.only:
        parser.error("--write: a table is written as a whole, without --only")
    require_cluster()
    passed, failed = 0, 0
    for part in [given.part] if given.part else PARTS:
        rows, failures = run(part, given.only)
        print("\n" + drill_table.HEAD + "".join(map(str, rows)), flush=True)
        for failure in failures:
            print(f"FAILED {failure}", flush=True)
        if given.write and not failures:
            drill_table.write(part, rows, PARTS[part].HOW)
        passed, failed = passed + len(rows), failed + len(failures)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
