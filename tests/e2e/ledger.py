"""A job whose model is a ledger: each record has one weight, which tells how often the record was trained."""

import math

RATE = 1e-4


def write_ledger_file(path, records, first=0):
    """A record is its own number in one categorical column; all labels are 1."""
    with open(path, "w") as out:
        out.writelines(f"1,r{number:07d}\n" for number in range(first, first + records))


def ledger_job(files, update="", batch=16, epochs=1, train=""):
    """Counts how often each record was trained, with public means only: a linear model whose gradient is
    -(1 - sigmoid(w)), as good as -1/2 while w is small, and SGD. So w = times * rate / 2 (ledger_times)."""
    return f"""
job: ledger
data:
  format: csv
  train: [{", ".join(str(f) for f in files)}]
  schema: {{label: 0, categorical: "1"}}
  task_bytes: 2KiB
model: {{towers: [{{kind: linear}}], loss: logistic}}
optimizer:
  sparse: {{kind: sgd, learning_rate: {RATE}}}
  dense: {{kind: sgd, learning_rate: {RATE}}}
update:
  {update or "sparse: {policy: async}"}
train: {{batch_size: {batch}, epochs: {epochs}, gradient: sum{", " + train if train else ""}}}
worker_lease: 2s
heartbeat: 200ms
"""


def ledger_times(scores, whole=1):
    """How often each record was trained, from its predicted probability; in parts of which `whole` are one time."""
    weights = [math.log(score / (1 - score)) for score in scores]
    return [round(weight / (RATE / 2) * whole) for weight in weights]
