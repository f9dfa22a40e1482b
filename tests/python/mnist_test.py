"""MNIST as PNGs in tar, in TFRecord and in folders is one data set: a program of PyTorch makes the same model of each, bit for bit."""

import gzip
import pathlib
import sys
import tempfile
import unittest

from python_data import SKIPPED, skip_if_lacking

from crew import DATA  # noqa: E402

if __name__ == "__main__":
    skip_if_lacking()
    if not (DATA / "mnist").exists():
        print(f"SKIPPED: no real data in {DATA} (deploy/datasets makes it, or CAPSTAN_DATA names its folder)")
        sys.exit(SKIPPED)

from image_files import write_class  # noqa: E402
from python_crew import PythonCrew  # noqa: E402

SIDE, CLASSES = 28, 10
TRAIN, HELD_OUT = 1000, 300
FILES = {"tar": "*.tar", "tfrecord": "*.tfrecord", "folder": "folder"}
# Each class is a file, or a folder; a task has five of them, so that no batch is of one class.
JOB = """
job: mnist
data:
  format: {kind}
  train: "{folder}/train/{files}"
  eval: "{folder}/eval/{files}"
  image: {{height: 28, width: 28, channels: 1}}
  pieces: 5
  task_records: 5000
  task_bytes: 64MiB
model: {{user: cnn.py, loss: softmax, outputs: 10}}
optimizer: {{dense: {{kind: adam, learning_rate: 0.01}}}}
update: {{dense: {{policy: sync, lanes: 2}}}}
train: {{batch_size: 25, epochs: 4}}
heartbeat: 200ms
"""


def digits(name, count):
    """The first `count` images by their class."""
    pixels = gzip.decompress((DATA / f"mnist/{name}-images-idx3-ubyte.gz").read_bytes())[16:]
    labels = gzip.decompress((DATA / f"mnist/{name}-labels-idx1-ubyte.gz").read_bytes())[8:]
    size = SIDE * SIDE
    return [[pixels[i * size:(i + 1) * size] for i in range(count) if labels[i] == of] for of in range(CLASSES)]


class MnistTest(unittest.TestCase):

    def test_every_format_makes_the_same_model_bit_for_bit(self):
        with tempfile.TemporaryDirectory(prefix="capstan-mnist-") as scratch:
            folder = pathlib.Path(scratch)
            for split, name, count in (("train", "train10k", TRAIN), ("eval", "t10k", HELD_OUT)):
                for of, images in enumerate(digits(name, count)):
                    write_class(folder / split, of, SIDE, images)
            models = {}
            for kind, files in FILES.items():
                with PythonCrew(JOB.format(kind=kind, folder=folder, files=files), example="cnn", workers=2, name=kind) as crew:
                    last = crew.wait()
                    self.assertEqual(last.examples, 4 * TRAIN)
                    models[kind] = crew.fingerprint(), crew.final("accuracy")
        print({kind: accuracy for kind, (_, accuracy) in models.items()}, flush=True)
        self.assertEqual(models["tfrecord"], models["tar"])
        self.assertEqual(models["folder"], models["tar"])
        self.assertGreater(models["tar"][1], 0.85, "of .1 by chance")


if __name__ == "__main__":
    unittest.main(verbosity=2)
