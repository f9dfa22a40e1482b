"""What the section `chief` compares, all of it with numbers."""

from compare import Row

HEARTBEATS = ("a task's heartbeat", "a lane's heartbeat", "eight threads' heartbeat", "eight lanes' heartbeat", "eight threads' heartbeat, ssp",
              "eight threads' heartbeat, no task left")
ENDS_OF_EIGHT_TASKS = ("eight tasks end", "eight tasks end, ssp", "the last eight tasks end", "the last eight tasks end, ssp")
MOST_MICROSECONDS = 100  # Of a heartbeat; where tasks end, of each.

ROWS = [
    *(Row(f"{kind}, 1,000 workers, us", f"{kind}, 1000 workers", MOST_MICROSECONDS, 1, less=True) for kind in HEARTBEATS),
    *(Row(f"{kind}, 1,000 workers, us", f"{kind}, 1000 workers", 8 * MOST_MICROSECONDS, 1, less=True) for kind in ENDS_OF_EIGHT_TASKS),
    Row("ten million tasks: memory, MiB", "10000000 tasks: memory", 300, 1, less=True),
    Row("ten million tasks: a start, s", "10000000 tasks: start.*", 2, 1, less=True),
    Row("a million tasks by 100 workers: memory of their streams on all shards, MiB", "streams of .*: memory of .*", 16, 1, less=True),
    Row("the same in each checkpoint, MiB", "streams of .*: a checkpoint's part", 8, 1, less=True),
    Row("100,000 objects with answers after 20 ms are planned in, s", r"\d+ objects: planned", 30, 1, less=True)]
