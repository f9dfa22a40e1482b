"""What the tests of users' own programs share: what such a test needs, jobs and their data, and a crew whose workers are programs."""

import os
import pathlib
import random
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/e2e"))
SKIPPED = 77
PYTHON = "/usr/bin/python3"
EXAMPLES = ROOT / "deploy/examples/python"

SYNC = "update: {sparse: {policy: sync, lanes: 4}, dense: {policy: sync, lanes: 4}}"
CLICKS = """
job: clicks
data: {format: synthetic, synthetic: {train_rows: %d, eval_rows: 4000}, task_records: 500}
model: {%s, embedding_dim: 8}
optimizer: {sparse: {kind: adagrad, learning_rate: 0.05}, dense: {kind: adam, learning_rate: 0.003}}
train: {batch_size: 125}
worker_lease: 2s
heartbeat: 200ms
"""


def has_module(name):
    """Whether programs can import it; whoever imports PyTorch to find out takes seconds."""
    look = f"import importlib.util, sys; sys.exit(importlib.util.find_spec('{name}') is None)"
    return subprocess.run([PYTHON, "-c", look], check=False).returncode == 0


def lack():
    """What is missing here; empty: nothing."""
    package = pathlib.Path(os.environ.get("CAPSTAN_PYTHON_PACKAGE", ROOT / "build/test/python"))
    if not list(package.glob("capstan_ps/_capstan*.so")):
        return f"{package} has no capstan_ps (-DCAPSTAN_PYTHON_MODULE=ON with nanobind; tests/run builds it)"
    os.environ["PYTHONPATH"] = str(package)
    if not has_module("torch"):
        return f"{PYTHON} has no torch (Debian: python3-torch)"
    return ""


def skip_if_lacking():
    """Ends a test program, loudly, where there is nothing to test."""
    if lacks := lack():
        print(f"SKIPPED: {lacks}")
        sys.exit(SKIPPED)


def write_likes(path, count, seed):
    """Who likes what, by how alike the item is to those that one has liked; who has liked nothing likes half of all."""
    draw = random.Random(seed)
    kind = {item: item % 4 for item in range(40)}
    with open(path, "w", encoding="ascii") as out:
        out.write("liked,item,clicked,user_id,price,city,two\n")
        for _ in range(count):
            taste, item = draw.randrange(4), draw.randrange(40)
            clicked = [draw.choice([other for other in kind if kind[other] == taste]) for _ in range(draw.randrange(6))]
            likes = draw.random() < (0.5 if not clicked else 0.9 if kind[item] == taste else 0.1)
            out.write(f"{int(likes)},{item},{'|'.join(map(str, clicked))},{draw.randrange(500)},{draw.random():.3f},"
                      f"{draw.choice(['Bern', 'Uri', ''])},2\n")


LIKES = """
job: likes
data:
  format: csv
  header: true
  train: %s
  eval: %s
  schema: {label: liked, numeric: [price]}
  features:
    user:    {column: user_id, kind: id}
    item:    {column: item, kind: id}
    history: {column: clicked, kind: id, table: item, many: true, pooling: mean}
    city:    {column: city}
  task_bytes: 20KiB
tables:
  user: {dim: 4}
  item: {dim: 8, optimizer: {kind: adagrad, learning_rate: 0.5}}
model: {user: recommender.py, embedding_dim: 2, embedding_stddev: 0.3}
optimizer: {sparse: {kind: adagrad, learning_rate: 0.05}, dense: {kind: adam, learning_rate: 0.005}}
train: {batch_size: 50, epochs: 6}
worker_lease: 2s
heartbeat: 200ms
"""


def idx(shape, values):
    return bytes([0, 0, 8, len(shape)]) + b"".join(n.to_bytes(4, "big") for n in shape) + bytes(values)


def write_images(folder, name, count, seed):
    """Images of 8 x 8 in which one of three rows is bright, noisily: which one is the label."""
    draw = random.Random(seed)
    labels = [draw.randrange(3) for _ in range(count)]
    pixels = (
        min(255, draw.randrange(120) + 135 * (y // 3 == label)) for label in labels for y in range(8) for _ in range(8))
    (folder / f"{name}-images-idx3-ubyte").write_bytes(idx((count, 8, 8), pixels))
    (folder / f"{name}-labels-idx1-ubyte").write_bytes(idx((count,), labels))


def job_of_images(folder):
    """Of 2,400 and 600 images, a job without its update policy."""
    write_images(folder, "train", 2400, seed=1)
    write_images(folder, "test", 600, seed=2)
    return f"""
job: rows
data: {{format: idx, train: {folder}/train-images-idx3-ubyte, eval: {folder}/test-images-idx3-ubyte, task_records: 200}}
model: {{user: cnn.py, loss: softmax, outputs: 3}}
optimizer: {{dense: {{kind: adam, learning_rate: 0.01}}}}
train: {{batch_size: 50, clip_norm: 1}}
"""
