"""What the examples learn: AUC, RMSE or accuracy at the end, by example, policy and seed. Each job is a side of its own with one
turn, since a model learns the same on a busy machine; what was measured is kept, job by job."""

import collections
import os
import pathlib
import sys

from page import table
from results import median
from turns import Side

ROOT = pathlib.Path(__file__).resolve().parents[3]
TURN = ROOT / "tests" / "bench" / "turns" / "quality.py"
SEEDS = (1, 2, 3)
ONE_WORKER, AS_IT_IS = "one worker", "as it is"

Job = collections.namedtuple("Job", "example policy seed")


def known(context):
    """The module that the end-to-end tests have of examples, bars and policies. It reads the environment."""
    os.environ.update({name: context.environment[name] for name in ("CAPSTAN_BIN", "CAPSTAN_PROTO")})
    sys.path.insert(0, str(ROOT / "tests" / "e2e"))
    import quality
    return quality


def name_of(job):
    return f"{job.example}, {job.policy}, seed {job.seed}"


def side_of(job, context):
    command = ["/usr/bin/python3", "-B", TURN, job.example, job.policy, str(job.seed)]
    return Side(name_of(job), command, context.environment, timeout=1200)


def reaches(metric, value, bar):
    return value <= bar if metric == "rmse" else value >= bar


def values_of(turns, example, policy):
    """Of each seed that was trained."""
    names = {name_of(Job(example, policy, seed)) for seed in SEEDS}
    return [turn.results[0].value for turn in turns if turn.side in names]


def cell(turns, example, policy, bars):
    """`0.7381 (0.7377–0.7383)`, with an asterisk if the median misses the bar; or how many of the seeds there are."""
    metric, bar = bars[example]
    found = values_of(turns, example, policy)
    if len(found) < len(SEEDS):
        return f"not measured ({len(found)} of {len(SEEDS)} seeds)" if found else "not measured"
    value = median(found)
    return f"{value:.4f}{'' if reaches(metric, value, bar) else ' *'} ({min(found):.4f}–{max(found):.4f})"


def matrix_section(context):
    """All policies, one seed after the other, so that an interrupted run has a table with fewer seeds, not with holes."""
    quality = known(context)
    examples = chosen(context.examples, quality.BARS)
    policies = chosen(context.policies, [ONE_WORKER, *quality.POLICIES])
    jobs = [Job(example, policy, seed) for seed in SEEDS for policy in policies for example in examples]

    def render(_, turns, conditions):
        yield f"{conditions} {quality.SHARDS} shards and {quality.WORKERS} workers, but for the first column. Medians of seeds 1 to 3, with their"
        yield "range. An asterisk misses the example's bar, which is set for `async`; every column has the example's settings, none were"
        yield "chosen for it."
        yield ""
        yield from table(["job", "metric", "bar", ONE_WORKER, *quality.POLICIES],
                         [[example, quality.BARS[example][0], f"{quality.BARS[example][1]:.4f}",
                           *(cell(turns, example, policy, quality.BARS) for policy in (ONE_WORKER, *quality.POLICIES))]
                          for example in quality.BARS])
    return make_section("matrix", jobs, context, render)


def quality_section(context):
    """The examples as they are."""
    quality = known(context)
    jobs = [Job(example, AS_IT_IS, seed) for seed in SEEDS for example in chosen(context.examples, quality.BARS)]

    def render(_, turns, conditions):
        yield f"{conditions} {quality.SHARDS} shards and {quality.WORKERS} workers; medians of seeds 1 to 3, with their range. An asterisk misses the bar."
        yield ""
        yield from table(["job", "metric", "bar", "reached"],
                         [[example, metric, f"{bar:.4f}", cell(turns, example, AS_IT_IS, quality.BARS)]
                          for example, (metric, bar) in quality.BARS.items()])
    return make_section("quality", jobs, context, render)


def make_section(name, jobs, context, render):
    from sections import Section
    return Section(name, [side_of(job, context) for job in jobs], wanted=1, bound=1, quiet=1, lasting=True, render=render,
                   prepare=need_data)


def need_data():
    import quality
    if not quality.data_is_there():
        sys.exit("record: the sets of docs/datasets.md are not there: deploy/datasets makes them, or CAPSTAN_DATA names their folder")


def chosen(names, among):
    """`among`, or those of it that are named."""
    for name in names or ():
        if name not in among:
            sys.exit(f"record: {name!r} is not one of: {'; '.join(among)}")
    return [name for name in among if not names or name in names]
