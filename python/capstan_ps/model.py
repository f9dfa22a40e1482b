"""A trained model outside of its job.

    import capstan_ps
    model = capstan_ps.load("out/ctr/checkpoints/000000000082-1")   # or s3://..., or what was exported
    net = model.torch(DeepFM)                                       # what was trained, in eval()
    for batch in model.batches("test.csv"):
        logits = net(batch)

docs/python.md tells of it."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import types

import numpy as np

from capstan_ps import score as _score

_POOLINGS = {"POOLING_MEAN": "mean", "POOLING_NONE": "none"}
_LOSSES = {"LOSS_SOFTMAX": "softmax", "LOSS_SQUARED": "squared"}


def load(path):
    """The model of a checkpoint, a folder or s3://, or of the folder into which `capstan checkpoint export` has written
    it. A checkpoint is read by the command `capstan`: that of the environment variable CAPSTAN, or of the PATH."""
    if (pathlib.Path(path) / "model.safetensors").exists():
        return Model(path)
    program = os.environ.get("CAPSTAN") or shutil.which("capstan")
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
    """In memory. `job` is what the program's `build` is given; `tables[name].rows(keys)` are the rows of distinct keys,
    those that training has never met as they would have begun."""

    def __init__(self, folder):
        self._exported = _score.Exported(folder)
        self.tables = self._exported.tables
        self.job = _facts(self._exported.job)

    def state_dict(self):
        """{name: tensor} of the dense part, as `load_state_dict` takes it."""
        import torch
        return {name: torch.from_numpy(array.copy()) for name, array in self._exported.tensors.items()}

    def torch(self, build):
        """What `build` gave in training, with the parameters and buffers that it had at the end, in eval()."""
        net = build(self.job)
        trained = self.state_dict()
        own = {name for name in net.state_dict() if name.rpartition(".")[2] != "num_batches_tracked"}
        if own != set(trained):
            name = min(own ^ set(trained))
            whose, other = ("the program", "the model") if name in own else ("the model", "the program")
            raise ValueError(f"{whose} has {name}, and {other} does not; the model was trained by {self.job.program}")
        net.load_state_dict(trained, strict=False)
        return net.eval()

    def batch(self, lines):
        """Records in the job's format, without a line of names, as one batch."""
        records, parser = _score.Records(), self._parser()
        for line in lines:
            parser.parse(line, records)
        return self._batch(parser, records)

    def batches(self, path):
        """The records of a file in the job's format, in batches. A label may be in front of each, and is not read."""
        if self._exported.data["format"] == "DATA_FORMAT_IDX":
            with _score.open_file(path) as file:
                pixels = _score.images_in(self._exported.data, file.read())
            for begin in range(0, len(pixels), _score.BATCH):
                records = _score.Records()
                for image in pixels[begin:begin + _score.BATCH]:
                    records.add([], [], image)
                yield self._batch(None, records)
            return
        with _score.open_file(path) as file:
            parser = self._parser()
            for records in self._exported.records_of(path, file, parser):
                yield self._batch(parser, records)

    def _parser(self):
        if self._exported.data.get("features"):
            return _FeatureParser(self._exported.data)
        return self._exported.parser()

    def _batch(self, parser, records):
        from capstan_ps.torch import Batch
        bags = parser.take_bags() if isinstance(parser, _FeatureParser) else None
        return Batch(_Records(self, records, bags), self.job)


class _FeatureParser(_score.CellParser):
    """Cells whose keys belong to features. Those of the records that were parsed are kept until they are taken."""

    def __init__(self, data):
        super().__init__(data)
        self.features = data["features"]
        self.names |= {spec.get("column", 0): spec["column_name"] for spec in self.features if spec.get("column_name")}
        self.bags = [([], [0]) for _ in self.features]

    def take(self, cells, records):
        keys = [list(self.keys_of(spec, cells[spec.get("column", 0)])) for spec in self.features]
        super().take(cells, records)
        for (all_keys, offsets), own in zip(self.bags, keys):
            all_keys += own
            offsets.append(len(all_keys))

    def keys_of(self, spec, cell):
        values = [cell]
        if spec.get("many"):
            values = [value for value in cell.split(spec.get("separator") or "|") if value][:spec["most"]]
        for value in values:
            if spec.get("kind") != "KEY_KIND_ID":
                key = _score.hash_text(value.encode("utf-8", "surrogateescape"))
            elif value == "":
                continue
            elif value.isascii() and value.isdigit() and int(value) < 1 << 64:
                key = int(value)
            else:
                raise ValueError(f"{value!r} is not an id: a whole number from 0 to 2^64-1")
            buckets = int(spec.get("buckets", 0))
            yield key % buckets if buckets else key

    def take_bags(self):
        bags, self.bags = self.bags, [([], [0]) for _ in self.features]
        return bags


class _Records:
    """What a Batch asks of a step, of records that no worker has: they have no labels and no weights."""

    def __init__(self, model, records, bags):
        import torch
        self._torch, self.examples = torch, len(records)
        self._numbers = np.array(records.dense, np.float32).reshape(len(records), -1)
        self._values = np.array(records.values, np.float32)
        job = model.job
        if bags is None:
            bags = [(records.keys, records.offsets)]
            tables = [0]
        else:
            tables = [feature.table for feature in job.features]
        self._offsets = [np.array(offsets, np.int32) for _, offsets in bags]
        self._begin, of_table = [], [[] for _ in range(max(1, len(job.dims)))]
        for (keys, _), table in zip(bags, tables):
            self._begin.append(len(of_table[table]))
            of_table[table] += keys
        found = [np.unique(np.array(keys, np.uint64), return_inverse=True) for keys in of_table]
        self._keys = [keys for keys, _ in found]
        self._index = [places.astype(np.int32) for _, places in found]
        of = list(model.tables.values())
        self._rows = [of[i].rows(keys) if i < len(of) else np.zeros((0, 0), np.float32) for i, keys in enumerate(self._keys)]

    def labels(self):
        return None

    def weights(self):
        return None

    def numbers(self):
        return self._torch.from_numpy(self._numbers)

    def values(self):
        return self._torch.from_numpy(self._values) if (self._values != 1).any() else None

    def rows(self, table):
        return self._torch.from_numpy(self._rows[table])

    def index(self, table):
        return self._torch.from_numpy(self._index[table])

    def keys(self, table):
        return self._torch.from_numpy(self._keys[table].view(np.int64))

    def offsets(self):
        return self._torch.from_numpy(self._offsets[0])

    def feature_offsets(self, place):
        return self._torch.from_numpy(self._offsets[place])

    def feature_begin(self, place):
        return self._begin[place]


def _facts(job):
    """The job as a worker's program is given it."""
    data, model, train, tables = job["data"], job["model"], job["train"], job.get("tables", [])
    places = {table["name"]: place for place, table in enumerate(tables)}
    features = [types.SimpleNamespace(name=spec["name"], table=places[spec["table"]], many=spec.get("many", False),
                                      most=spec.get("most", 0), pooling=_POOLINGS.get(spec.get("pooling"), "sum"))
                for spec in data.get("features", [])]
    dims = [table["dim"] for table in tables]
    policies = {job.get(part, {}).get("kind") for part in ("dense_update", "sparse_update")}
    return types.SimpleNamespace(
        name=job["job"], program=model.get("user", ""), seed=int(job.get("seed", 0)), fields=data.get("fields", 0),
        numbers=data.get("dense_width", 0), features=features, dims=dims, dim=dims[0] if dims else 0,
        outputs=model.get("outputs", 1), loss=_LOSSES.get(model.get("loss"), "logistic"), image=data.get("image_shape", []),
        batch_size=train["batch_size"], sum_loss=train.get("sum_loss", False), step_threads=train.get("step_threads", 1),
        synchronous="POLICY_KIND_SYNC" in policies, evaluates=bool(data.get("eval") or data.get("synthetic", {}).get("eval_rows")))
