"""A trained model outside of its job.

    import capstan_ps
    model = capstan_ps.load("out/ctr/checkpoints/000000000082-1")   # or s3://..., or what was exported
    net = model.torch(DeepFM)                                       # the trained module, in eval()
    for batch in model.batches("test.csv"):
        logits = net(batch)

See docs/python.md."""

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
    """Returns the model of a checkpoint (a folder or s3://), or of a folder that `capstan checkpoint export` has written. Checkpoints are
    read by the command `capstan`: see capstan_ps.programs."""
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
    """A trained model in memory. `job` is what the program's `build` gets as its argument. `tables[name].rows(keys)` returns the rows of
    keys; keys that training has never met have their initial rows."""

    def __init__(self, folder):
        self._exported = _Exported(folder)
        self.tables = self._exported.tables
        self.job = _capstan.Job.from_json((pathlib.Path(folder) / "job.json").read_text(encoding="utf-8"))

    def state_dict(self):
        """Returns the dense part as {name: tensor}, by the names in `named_parameters` and `named_buffers`."""
        import torch
        return {name: torch.from_numpy(array.copy()) for name, array in self._exported.tensors.items()}

    def torch(self, build):
        """Builds the module by `build` and returns it with the trained parameters and buffers, in eval(). The random draws of `build` are
        the same as in training; the state of this process's generators is restored afterwards."""
        from capstan_ps import torch_draws, torch_tensors
        with torch_draws.seeded(self.job.seed):
            net = build(self.job)
        try:
            torch_tensors.fill(net, self.state_dict())
        except ValueError as error:
            raise ValueError(f"{error}; the model was trained by {self.job.program}") from None
        return net.eval()

    def to_onnx(self, build, path, predict=lambda net, batch: net(batch)):
        """Writes the trained module as an ONNX graph, which takes the rows of keys and computes what `predict` returns: a tensor, which the
        graph calls `logits`, or a dictionary of tensors, by their names.

        The graph has those of the following inputs that the module reads. The first dimension of each is `records`.

        - `embedding` [.., keys, dim] or, with data.features, `<feature>` [.., keys, dim]: the rows, with zeros after a record's last key;
        - `embedding.count` or `<feature>.count`, int64: the number of keys of each record;
        - `<feature>.weights` [.., keys], if the feature has weights;
        - `values` [.., keys], for libsvm and libfm;
        - `numbers` [.., job.numbers]."""
        self.write_onnx(self.torch(build), path, predict)

    def write_onnx(self, net, path, predict=None):
        """Does the same with the module `net`, which `torch` has returned. `predict`: as the program passes it to train(); None: the graph
        computes the module itself."""
        from capstan_ps import onnx
        onnx.export(self._exported, self.job, net, predict or (lambda net, batch: net(batch)), path)

    def onnx_inputs(self, lines):
        """Returns the inputs of such a graph for records in the job's format: {name: NumPy array}. The module may not read all of them."""
        from capstan_ps import onnx
        return onnx.inputs_of(self._exported, self.job, self._exported.parsed(lines))

    def predictions(self, logits):
        """Converts logits [records, outputs] to what `capstan predict` writes: probabilities, probabilities of classes, or values in the
        unit of the label."""
        return self._exported.predictions(logits)

    def parameters(self):
        """Returns the dense part as {name: NumPy array}."""
        return dict(self._exported.tensors)

    def batch(self, lines, kind=None):
        """Returns records in the job's format, without a header line, as one batch. `kind`: capstan_ps.numpy.Batch for a batch of NumPy
        arrays; None: a batch of PyTorch tensors."""
        return self._batch(self._exported.parsed(lines), kind)

    def batches(self, path, kind=None):
        """Yields the records of a file in the job's format, in batches. If the job reads a folder of images, `path` is such a folder.
        Labels are allowed, and ignored."""
        for records in self._exported.records(path):
            yield self._batch(records, kind)

    def _batch(self, records, kind):
        if kind is None:
            from capstan_ps.torch_batch import Batch as kind
        return kind(_Records(self, records), self.job)


class Table(_score.Table):
    """A table of rows by their keys. `keys`, in ascending order, and `weights` are those of the rows that training has created."""

    def rows(self, keys):
        """Returns the rows of any keys, [keys, dim]. `keys`: a list, an array or a tensor, as `pull` of a running job takes them."""
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
        """Reads the records by the worker's own readers, like held-out records of the job: images are decoded, cropped and scaled."""
        with tempfile.TemporaryDirectory(prefix="capstan-vocabularies-") as folder:
            reader = _capstan.RecordReader(json.dumps(self._job_with_vocabularies(pathlib.Path(folder))), path)
            while (columns := reader.next()) is not None:
                yield _ReadRecords(columns)

    def _job_with_vocabularies(self, folder):
        """Returns the job, with its vocabularies in `folder`, where they are written: the files of the training may not exist any more."""
        job = copy.deepcopy(self.job)
        for spec in job["data"].get("features", []):
            if spec["name"] in self._vocabularies:
                file = folder / f"{spec['name']}.txt"
                file.write_bytes(self._vocabularies[spec["name"]])
                spec["vocabulary"]["file"] = str(file)
        return job


def _is_text(path):
    """Returns whether `path` exists and is no Parquet file. Patterns and s3:// count as names of Parquet files. A pipe is text: it can be
    read only once, so its content is not examined."""
    if not os.path.isfile(path):
        return os.path.exists(path) and not os.path.isdir(path)
    with open(path, "rb") as file:
        return file.read(4) != b"PAR1"


class _ReadRecords:
    """The records that RecordReader has read, with the interface of score.Records."""

    def __init__(self, columns):
        self.keys, self.offsets, self.bags = columns["keys"], columns["offsets"], columns["bags"]
        self.values = columns["values"] if len(columns["values"]) else np.ones(len(self.keys), np.float32)
        self._numbers = columns["numbers"]

    def numbers(self, width):
        return self._numbers.reshape(len(self), width)

    def __len__(self):
        return len(self._numbers)


class Unlabelled:
    """The part of a step's interface that is the same for all records to be scored: they have no labels, weights and negatives."""

    def labels(self):
        return None

    def weights(self):
        return None

    def negatives(self):
        return None


class _Records(Unlabelled):
    """Records that are not from a worker, with the interface of a step. Their rows are looked up in the model."""

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
