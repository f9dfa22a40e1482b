"""A job whose model is a program and a ledger: ledger_program.py. Its files are those of tests/e2e/ledger.py."""

import collections

RATE = 2.0**-10  # A power of two: sums of it have no rounding errors.
PROGRAM = "ledger_program.py"


def program_job(data, update, epochs=1, batch=4):
    """Each record adds RATE to the row of its own key and to the tensor `records`."""
    return f"""
job: ledger
data:
  format: csv
  train: {data}
  schema: {{label: 0, categorical: "1"}}
  task_bytes: 2KiB
model: {{user: {PROGRAM}, embedding_dim: 1, embedding_stddev: 1e-6}}
optimizer: {{sparse: {{kind: sgd, learning_rate: {RATE}}}, dense: {{kind: sgd, learning_rate: {RATE}}}}}
update: {{sparse: {update}, dense: {update}}}
train: {{batch_size: {batch}, epochs: {epochs}, gradient: sum}}
worker_lease: 2s
heartbeat: 200ms
"""


def times_trained(model):
    """Of what capstan_ps.load gave: {times: how many records' rows say so}, and how many records were trained in all by the tensor."""
    rows = model.tables["features"].weights[:, 0]
    return dict(collections.Counter(round(float(row) / RATE) for row in rows)), float(model.parameters()["records"][0]) / RATE
