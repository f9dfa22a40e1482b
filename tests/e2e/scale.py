"""A small job for many processes, in every policy: each record is counted (ledger.py)."""

from crew import Crew
from ledger import ledger_job

BATCH = 32
POLICIES = ("async", "aggregate", "ssp", "sync", "backup")
# A hundred processes on two cores may be silent for a while without being dead.
PATIENCE = {True: "worker_lease: 10s\nheartbeat: 500ms\n", False: "worker_lease: 4s\nheartbeat: 300ms\n"}
MANY = 50  # Processes.


def update(policy, workers):
    return {"async": "{policy: async}",
            "aggregate": "{policy: async, aggregate: 4}",
            "ssp": "{policy: ssp, staleness: 3}",
            "sync": f"{{policy: sync, lanes: {workers}}}",
            "backup": f"{{policy: sync, lanes: {workers}, backup_workers: {max(1, workers // 10)}}}"}[policy]


def crowd(policy, data, shards, workers, overrides=()):
    """A crew whose chief stays when the job is over. A task has 128 records of write_ledger_file."""
    job = ledger_job([data], update=f"sparse: {update(policy, workers)}", batch=BATCH)
    job = job.replace("worker_lease: 2s\nheartbeat: 200ms\n", PATIENCE[shards + workers > MANY])
    return Crew(job, shards=shards, workers=workers, name=policy, exit_when_done=False,
                overrides=["data.task_bytes=1408", "partition_count=64", *overrides])
