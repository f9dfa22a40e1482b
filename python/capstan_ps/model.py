"""A trained model outside of its job.

    import capstan_ps
    model = capstan_ps.load("out/ctr/checkpoints/000000000082-1")   # or s3://..., or what was exported
    net = model.torch(DeepFM)                                       # what was trained, in eval()
    for batch in model.batches("test.csv"):
        logits = net(batch)

docs/python.md tells of it."""

import copy
import json
import os
import pathlib
import subprocess
import tempfile

import numpy as np

from capstan_ps import _capstan
from capstan_ps import programs
from capstan_ps import score as _score
from capstan_ps.keys import keys_of

IMAGES = ("DATA_FORMAT_TAR", "DATA_FORMAT_TFRECORD", "DATA_FORMAT_FOLDER")


def load(path):
    """The model of a checkpoint, a folder or s3://, or of the folder into which `capstan checkpoint export` has written
    it. A checkpoint is read by the command `capstan`: see capstan_ps.programs."""
    if (pathlib.Path(path) / "model.safetensors").exists():
        return Model(path)
    program = programs.capstan()
    if not program:
        raise FileNotFoundError(f"{path} is no exported model (it has no model.safetensors), and to read a checkpoint the command "
                                "`capstan` is needed: put it into the PATH, or export the checkpoint where it is")
    with tempfile.TemporaryDirectory(prefix="capstan-load-") as scratch:
        folder = pathlib.Path(scratch) / "model"
        done = subprocess.run([program, "checkpoint", "export", os.fspath(path), folder], capture_output=True, text=True)
        if done.returncode != 0:
            raise ValueError(done.stderr.strip() or f"{path}: `capstan checkpoint export` has failed")
        return Model(folder)


class Model:
    """In memory. `job` is what the program's `build` is given; `tables[name].rows(keys)` are the rows of keys, those that
    training has never met as they would have begun."""

    def __init__(self, folder):
        self._exported = _Exported(folder)
        self.tables = self._exported.tables
        self.job = _capstan.Job.from_json((pathlib.Path(folder) / "job.json").read_text(encoding="utf-8"))

    def state_dict(self):
        """{name: tensor} of the dense part, by the names that `named_parameters` and `named_buffers` have for it."""
        import torch
        return {name: torch.from_numpy(array.copy()) for name, array in self._exported.tensors.items()}

    def torch(self, build):
        """What `build` gave in training, with the parameters and buffers that it had at the end, in eval(). What it draws is what it
        drew there; the draws of this process go on as they would have without."""
        from capstan_ps import torch_draws, torch_tensors
        with torch_draws.seeded(self.job.seed):
            net = build(self.job)
        try:
            torch_tensors.fill(net, self.state_dict())
        except ValueError as error:
            raise ValueError(f"{error}; the model was trained by {self.job.program}") from None
        return net.eval()

    def to_onnx(self, build, path, predict=lambda net, batch: net(batch)):
        """Writes the trained module as a graph of ONNX, which takes rows of keys and computes what `predict` gives: a tensor, as
        `logits`, or a dictionary of them by their names. Its inputs, of which the first extent is `records`, are `embedding` [.., keys,
        dim] or, with data.features, `<feature>` [.., keys, dim], each with `.count` (int64: how many keys are a record's) and, where
        the feature has weights, `.weights` [.., keys], `values` [.., keys] (libsvm, libfm), and `numbers` [.., job.numbers]: those that
        the module reads. Zeros are behind a record's last key."""
        self.write_onnx(self.torch(build), path, predict)

    def write_onnx(self, net, path, predict=None):
        """Likewise of what `torch` gave, and with what the program hands to train(): None: the module itself is what is computed."""
        from capstan_ps import onnx
        onnx.export(self._exported, self.job, net, predict or (lambda net, batch: net(batch)), path)

    def onnx_inputs(self, lines):
        """What such a graph takes of records in the job's format, as NumPy arrays by the names of its inputs; among them may be
        some that this module does not read."""
        from capstan_ps import onnx
        return onnx.inputs_of(self._exported, self.job, self._exported.parsed(lines))

    def predictions(self, logits):
        """What logits [records, outputs] mean, as `capstan predict` writes it: probabilities, shares of classes, or values in the label's
        unit."""
        return self._exported.predictions(logits)

    def parameters(self):
        """{name: array} of the dense part, as NumPy has it."""
        return dict(self._exported.tensors)

    def batch(self, lines, kind=None):
        """Records in the job's format, without a line of names, as one batch. `kind`: capstan_ps.numpy.Batch for one of NumPy's arrays;
        None: of PyTorch's tensors."""
        return self._batch(self._exported.parsed(lines), kind)

    def batches(self, path, kind=None):
        """The records of a file in the job's format, in batches; of a job on a folder of images, those of such a folder. Labels may be there,
        and are not read."""
        for records in self._exported.records(path):
            yield self._batch(records, kind)

    def _batch(self, records, kind):
        if kind is None:
            from capstan_ps.torch_batch import Batch as kind
        return kind(_Records(self, records), self.job)


class Table(_score.Table):
    """Rows by their keys. `keys`, which ascend, and `weights` are those that training has met."""

    def rows(self, keys):
        """The rows of any keys: a list, an array or a tensor, as `pull` of a running job takes them. [keys, dim]"""
        return super().rows(keys_of(self.name, keys))


class _Exported(_score.Exported):

    table = Table

    def __init__(self, folder):
        super().__init__(folder)
        self._vocabularies = {spec["name"]: (pathlib.Path(folder) / f"{spec['name']}.vocabulary.txt").read_bytes()
                              for spec in self.data.get("features", []) if spec.get("vocabulary")}

    def records(self, path):
        path, data_format = os.fspath(path), self.data["format"]
        if data_format in IMAGES or (data_format == "DATA_FORMAT_PARQUET" and not _is_text(path)):
            return self._as_the_job_reads(path)
        return super().records(path)

    def _as_the_job_reads(self, path):
        """By the worker's own readers, as held-out records of the job are: images are decoded, cut and scaled."""
        with tempfile.TemporaryDirectory(prefix="capstan-vocabularies-") as folder:
            reader = _capstan.RecordReader(json.dumps(self._job_with_vocabularies(pathlib.Path(folder))), path)
            while (columns := reader.next()) is not None:
                yield _ReadRecords(columns)

    def _job_with_vocabularies(self, folder):
        """The job, whose vocabularies are read there: where they were in training they may be no more."""
        job = copy.deepcopy(self.job)
        for spec in job["data"].get("features", []):
            if spec["name"] in self._vocabularies:
                file = folder / f"{spec['name']}.txt"
                file.write_bytes(self._vocabularies[spec["name"]])
                spec["vocabulary"]["file"] = str(file)
        return job


def _is_text(path):
    """Whether there is something to read that is no Parquet file. Patterns and s3:// are names of those. What comes through a pipe
    is text, and can be read only once."""
    if not os.path.isfile(path):
        return os.path.exists(path) and not os.path.isdir(path)
    with open(path, "rb") as file:
        return file.read(4) != b"PAR1"


class _ReadRecords:
    """Those that RecordReader has read, as score.Records has them."""

    def __init__(self, columns):
        self.keys, self.offsets, self.bags = columns["keys"], columns["offsets"], columns["bags"]
        self.values = columns["values"] if len(columns["values"]) else np.ones(len(self.keys), np.float32)
        self._numbers = columns["numbers"]

    def numbers(self, width):
        return self._numbers.reshape(len(self), width)

    def __len__(self):
        return len(self._numbers)


class Unlabelled:
    """What a Batch asks of a step, of records that somebody wants scores of: they have no labels and no weights."""

    def labels(self):
        return None

    def weights(self):
        return None

    def negatives(self):
        return None


class _Records(Unlabelled):
    """Of records that no worker has, looked up here."""

    def __init__(self, model, records):
        self.examples = len(records)
        self._numbers = records.numbers(model.job.numbers)
        self._values = np.array(records.values, np.float32)
        job = model.job
        bags = records.bags or [([], [0], [])] * len(job.features) or [(records.keys, records.offsets, [])]
        tables = [feature.table for feature in job.features] or [0]
        self._offsets = [np.array(offsets, np.int32) for _, offsets, _ in bags]
        self._weights = [np.array(weights, np.float32) for _, _, weights in bags]
        self._begin, of_table = [], [[np.zeros(0, np.uint64)] for _ in range(max(1, len(job.dims)))]
        for (keys, _, _), table in zip(bags, tables):
            self._begin.append(sum(map(len, of_table[table])))
            of_table[table].append(np.array(keys, np.uint64))
        found = [np.unique(np.concatenate(keys), return_inverse=True) for keys in of_table]
        self._keys = [keys for keys, _ in found]
        self._index = [places.astype(np.int32) for _, places in found]
        of = list(model.tables.values())
        self._rows = [of[i].rows(keys) if i < len(of) else np.zeros((0, 0), np.float32) for i, keys in enumerate(self._keys)]

    def numbers(self):
        return self._numbers

    def values(self):
        return self._values if (self._values != 1).any() else None

    def rows(self, table):
        return self._rows[table]

    def index(self, table):
        return self._index[table]

    def keys(self, table):
        return self._keys[table].view(np.int64)

    def offsets(self):
        return self._offsets[0]

    def feature_offsets(self, place):
        return self._offsets[place]

    def feature_weights(self, place):
        return self._weights[place] if len(self._weights[place]) else None

    def feature_begin(self, place):
        return self._begin[place]
