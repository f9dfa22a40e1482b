"""Every query of every dashboard, and every metric of every rule, has an answer on a live job scraped by a real
Prometheus, at the time when there is something to show."""

import pathlib
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from authority import Authority
from crew import Crew
from ledger import write_ledger_file
from prometheus import Prometheus, dashboard_queries, require_prometheus, rule_selectors
from tls_crew import TlsCrew

RECORDS = 24000
PACE = 6  # Milliseconds that a step takes at least.
# Seconds to look on when both jobs are over: a killed worker counts as lost after 3, queries look back in steps of 5.
AFTERWARDS = 20
# What only a fault brings forth, half an hour, a limit, or a job of another kind; such panels are empty, as their descriptions say, until
# it comes.
EMPTY_BY_NATURE = {("durability", "Calls tried again"), ("durability", "Failed calls"), ("shards", "Errors"), ("shards", "CPU"),
                   ("shards", "Memory"), ("shards", "Memory in four hours"), ("shards", "Turned away"), ("staleness", "Late for their round"),
                   ("staleness", "Not applied, by reason"), ("staleness", "Scaled down"), ("training", "Slowest worker"),
                   ("training", "Held back by the CPU limit")}
# One of their queries has the answer, in the color that it is to have.
ALTERNATIVES = {("durability", "Checkpoint"), ("training", "Checkpoint"), ("durability", "Shards"), ("shards", "Serving")}
# Rules about these have nothing to go by here: no limits, no Kubernetes, nobody who serves.
ABSENT = {"capstan_process_memory_limit_bytes", "capstan_serve_requests_total", "job:capstan_workers_wanted:max"}



def job(data, policy, table, replicas=0):
    return f"""
job: dashboards
data: {{format: csv, train: [{data}], eval: [{data}], schema: {{label: 0, categorical: "1"}}, task_bytes: 4KiB}}
model: {{preset: fm, embedding_dim: 4}}
update: {{sparse: {policy}, dense: {policy}}}
train: {{batch_size: 16, evaluate_every_examples: 2k}}
table: {table}
checkpoint: {{every: 3s}}
worker_lease: 3s
heartbeat: 200ms
replicas: {replicas}
"""


class DashboardsTest(unittest.TestCase):
    maxDiff = None

    def test_every_query_has_an_answer_on_a_live_job(self):
        with tempfile.TemporaryDirectory() as scratch:
            data = pathlib.Path(scratch) / "records.csv"
            write_ledger_file(data, RECORDS)
            bound = "{policy: ssp, staleness: 2}"
            rounds = "{policy: sync, lanes: 3, backup_workers: 1}"
            authority = Authority(pathlib.Path(scratch) / "authority")
            with TlsCrew(job(data, bound, "{byte_budget: 64MiB}", replicas=1), authority, job_name="dashboards", pace=PACE,
                         workers=3, exit_when_done=False) as one, \
                    Crew(job(data, rounds, "{admission_count: 2}"), pace=PACE, workers=3,
                         exit_when_done=False) as two, Prometheus({"bound": one, "rounds": two}) as prometheus:
                self.watch({"bound": one, "rounds": two}, prometheus)

    def watch(self, crews, prometheus):
        """Asks for all that has not been answered yet until both jobs are over, and, while something lacks an answer, for a while
        after. What an annotation marks is over in a moment, and may have been before the first question."""
        began = time.time()
        open_questions = {name: dashboard_queries(name) for name in crews}
        selectors = rule_selectors()
        # Late, so that Prometheus has seen the workers complete, and a few steps of the queries before the end.
        crews["bound"].until_examples(RECORDS // 2, timeout=180)
        crews["bound"].kill("worker-2")
        crews["rounds"].until(lambda: crews["rounds"].status().checkpoint.taken > 0, "a checkpoint", timeout=180)
        crews["rounds"].restart_shard(1)
        prometheus.discover()
        over_at = None
        while over_at is None or time.monotonic() < over_at + AFTERWARDS and (self.lacking(open_questions) or self.unseen(selectors)):
            for name, questions in open_questions.items():
                questions -= {one for one in questions if
                              (prometheus.happened(one[2], began) if one[1].startswith("annotation ")
                               else prometheus.query(one[2]))}
            selectors -= {one for one in selectors if prometheus.query(one[1])}
            if over_at is None and all(crew.status().examples >= RECORDS for crew in crews.values()):
                for crew in crews.values():
                    crew.until_state("COMPLETED", timeout=180)
                over_at = time.monotonic()
        self.assertEqual(self.lacking(open_questions), [], "no job had an answer to these")
        self.assertEqual(self.unseen(selectors), [], "no series for these of the rules")

    @staticmethod
    def lacking(open_questions):
        """Those to which no job had an answer, and that have one; of alternatives, all where none had."""
        titles = [{(board, title, query.replace(f'"{name}"', '"..."')) for board, title, query in questions}
                  for name, questions in open_questions.items()]
        unanswered = {one for one in set.intersection(*titles) if one[:2] not in EMPTY_BY_NATURE}
        for board, title in ALTERNATIVES:
            queries = {one for one in dashboard_queries("...") if one[:2] == (board, title)}
            if not queries <= unanswered:
                unanswered -= queries
        return sorted(unanswered)

    @staticmethod
    def unseen(selectors):
        return sorted(one for one in selectors if one[1].partition("{")[0] not in ABSENT)


if __name__ == "__main__":
    require_prometheus()
    unittest.main(verbosity=2)
