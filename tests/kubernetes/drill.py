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


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="drills whose name has this word in it")
    parser.add_argument("--write", action="store_true", help="put the table into docs/kubernetes-checks.md")
    given = parser.parse_args()
    policies = [policy for policy in brief.POLICIES if given.only in policy]
    troubles = [kind for kind in lasting.TROUBLES if given.only in kind.name]
    if given.write and given.only:
        parser.error("--write: the table is written as a whole, without --only")
    require_cluster()
    rules = [(brief.namespace_of(policy), "ctr", 1) for policy in policies]
    rules += [(lasting.namespace_of(kind), "ctr", lasting.SPEED) for kind in troubles]
    failures = []
    with ClusterPrometheus(rules) as prometheus:
        def tried(name, drill):
            try:
                return drill()
            except AssertionError as error:  # The others are run all the same.
                failures.append(f"{name}: {error}")
                return None
        brief_rows = [row for policy in policies
                      for row in tried(policy, brief.Drill(policy, prometheus).run) or []]
        lasting_rows = []
        for kind in troubles:
            row = tried(kind.name, lambda: kind().run(prometheus))
            if row is not None:
                lasting_rows.append(row)
                print(row, end="", flush=True)
    print("\n" + drill_table.HEAD + "".join(map(str, [*brief_rows, *lasting_rows])))
    for failure in failures:
        print(f"FAILED {failure}")
    if given.write and not failures:
        drill_table.write((brief_rows, lasting_rows), lasting.SPEED, lasting.LASTS)
    print(f"{len(brief_rows) + len(lasting_rows)} passed, {len(failures)} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
