#!/usr/bin/env python3
"""Scores raw records with the model in this folder, as `capstan predict` does. Needs NumPy only.

    python3 score.py test.csv            # a score a line; .gz too, and .zst with the module zstandard
    python3 score.py train-images-idx3-ubyte

    import score
    model = score.Model("model")
    model.score(["0,7,red,3.5", "1,9,blue,2"])     # an array: a score a record, or one a class

It reads model.safetensors and job.json beside it. docs/export.md tells the formulas.
"""

import csv
import gzip
import io
import json
import math
import pathlib
import struct
import sys

import numpy as np

BATCH = 4096
MASK = (1 << 64) - 1
LONGEST_LINE = 16 << 20  # Bytes, as in training.
MOST_KEYS_KEPT = 1 << 16  # Hashes of texts that are not computed again.
ABOVE_ALL_FLOATS = 2.0**128 - 2.0**103  # From here on 32 bits round to infinity.

csv.field_size_limit(max(csv.field_size_limit(), LONGEST_LINE))


# ---- hashes and draws: services/capstan/base/hash.h ----

def mix64(x):
    """Of 64 bits; an int, or an array of uint64."""
    if not isinstance(x, np.ndarray):
        return int(mix64(np.array([x & MASK], np.uint64))[0])
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


def draw(seed, stream, index):
    """64 random bits; `stream` and `index` are arrays of uint64."""
    return mix64(mix64(np.uint64(seed) ^ mix64(stream)) + (index + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15))


def hash_text(text):
    """Of bytes: FNV-1a, then mix64."""
    value = 0xCBF29CE484222325
    for byte in text:
        value = (value ^ byte) * 0x100000001B3 & MASK
    return mix64(value)


def field_key(column, text):
    """The key of a value of a column of the file, which counts from 0."""
    salt = draw(0, np.array([column], np.uint64), np.array([0], np.uint64))
    return hash_text(text) ^ int(salt[0])


# ---- initial values of keys that training has never met: services/capstan/store/initializer.h ----

def normal_quantile(p):
    """Wichura's AS 241 (PPND7): where a standard normal distribution reaches p."""
    q = p - 0.5
    r = 0.180625 - q * q
    middle = (q * (((59.109374720 * r + 159.29113202) * r + 50.434271938) * r + 3.3871327179) /
              (((67.187563600 * r + 78.757757664) * r + 17.895169469) * r + 1.0))
    root = np.sqrt(-np.log(np.maximum(np.minimum(p, 1 - p), 2.0**-54)))
    r = root - 1.6
    near = ((((0.17023821103 * r + 1.3067284816) * r + 2.7568153900) * r + 1.4234372777) /
            ((0.12021132975 * r + 0.73700164250) * r + 1.0))
    r = root - 5
    far = ((((0.017337203997 * r + 0.42868294337) * r + 3.0812263860) * r + 6.6579051150) /
           ((0.012258202635 * r + 0.24197894225) * r + 1.0))
    tail = np.copysign(np.where(root <= 5, near, far), q)
    return np.where(np.abs(q) <= 0.425, middle, tail)


def initial_values(segment, seed, keys):
    """The columns of a segment of a table as a row begins: [keys x width]."""
    width = segment["width"]
    initializer = segment.get("initializer", {})
    kind, scale = initializer.get("kind", ""), initializer.get("scale", 0.0)
    if kind == "INITIALIZER_KIND_CONSTANT":
        return np.full((len(keys), width), scale, np.float32)
    if kind not in ("INITIALIZER_KIND_NORMAL", "INITIALIZER_KIND_UNIFORM"):
        return np.zeros((len(keys), width), np.float32)
    place = np.arange(width, dtype=np.uint64) + np.uint64(segment.get("offset", 0))
    bits = draw(seed, keys[:, None], place[None, :])
    unit = (bits >> np.uint64(11)).astype(np.float64) * 2.0**-53
    scale = float(np.float32(scale))
    normal = kind == "INITIALIZER_KIND_NORMAL"
    return (scale * (normal_quantile(unit) if normal else 2 * unit - 1)).astype(np.float32)


# ---- records ----

class Records:
    """Of a batch: the keys of record i are keys[offsets[i]:offsets[i + 1]], each with a value."""

    def __init__(self):
        self.keys, self.values, self.offsets, self.dense = [], [], [0], []
        self.bags = []  # Of each of data.features: keys, offsets and weights (none: all are 1).

    def add(self, keys, values, dense):
        self.keys += keys
        self.values += values
        self.offsets.append(len(self.keys))
        self.dense.append(dense)

    def numbers(self, width):
        """The dense inputs: [records x width]."""
        return np.array(self.dense, np.float32).reshape(len(self), width)

    def __len__(self):
        return len(self.dense)


def number(text):
    """A number as the file has it, rounded to 32 bits."""
    value = float(text)
    if not abs(value) < ABOVE_ALL_FLOATS or "_" in text:
        raise ValueError(f"{text!r} is not a number")
    return np.float32(value)


class CellParser:
    """Lines of CSV and TSV. The dense input is the numeric columns in the order of the file; the keys are those of
    the categorical and bucket columns, likewise."""

    def __init__(self, data):
        self.tabs = data["format"] == "DATA_FORMAT_TSV"
        self.labels = sorted(spec.get("column", 0) for spec in data.get("labels", [])) or [data.get("label_column", 0)]
        self.columns = data.get("columns", 0)
        self.scale = np.float32(data.get("numeric_scale", 1))
        self.numeric = {spec.get("column", 0): spec for spec in data.get("numeric", [])}
        self.categorical = {spec.get("column", 0) for spec in data.get("categorical", [])}
        if data["format"] == "DATA_FORMAT_SYNTHETIC":  # As `capstan data generate` writes it.
            self.columns = data["fields"] + 1
            self.categorical = set(range(1, self.columns))
        self.names = {spec.get("column", 0): spec["name"] for spec in
                      [*data.get("numeric", []), *data.get("categorical", [])] if spec.get("name")}
        labels = data.get("labels", []) or [data]
        self.label_names = {spec.get("column_name") or spec.get("label_name") for spec in labels} - {None}
        self.keys = {}  # By column and text: at most MOST_KEYS_KEPT.

    def split(self, line):
        return line.split("\t") if self.tabs else (next(csv.reader([line], strict=True)) or [""])

    def cells(self, line):
        cells = self.split(line)
        if len(cells) == self.columns - len(self.labels):  # The labels may be left out.
            for label in self.labels:
                cells.insert(label, "")
        if len(cells) != self.columns:
            raise ValueError(f"{len(cells)} columns, expected {self.columns}")
        return cells

    def check_names(self, line):
        """Of a line of names: the columns that the job names are where they were in training."""
        if not self.names:
            return
        named = [cell.strip(" ") for cell in self.split(line)]
        if len(named) < self.columns and self.label_names & set(named):  # What is missing are not the labels.
            raise ValueError(f"{len(named)} columns, expected {self.columns} as in training, those that the model does not use, too" + self.moved(named))
        cells = self.cells(line)
        for column, name in self.names.items():
            if cells[column].strip(" ") != name:
                raise ValueError(f"column {column} is named {cells[column]!r}, expected {name!r}")

    def moved(self, named):
        """Where the first column that is not in its place is, or that it is missing."""
        for column, name in sorted(self.names.items()):
            if name not in named:
                return f": there is none named {name!r}"
            if named.index(name) != column:
                return f": column {column} was {name!r}, which is column {named.index(name)} here"
        return ""

    def parse(self, line, records):
        self.take(self.cells(line), records)

    def take(self, cells, records):
        keys, dense = [], []
        for column, cell in enumerate(cells):
            if column in self.labels:
                continue
            if column in self.categorical:
                keys.append(self.key(column, cell))
            elif column in self.numeric:
                self.take_number(self.numeric[column], column, cell, keys, dense)
        records.add(keys, [1.0] * len(keys), dense)

    def take_number(self, spec, column, cell, keys, dense):
        transform = spec.get("transform", "")
        if transform == "NUMERIC_TRANSFORM_BUCKET":
            bucket = ""
            if cell:
                bounds = np.array(spec.get("boundaries", []), np.float32)
                bucket = str(int(np.searchsorted(bounds, number(cell), side="right")))
            keys.append(self.key(column, bucket))
            return
        value = number(cell) if cell else np.float32(spec.get("missing", 0))
        if transform == "NUMERIC_TRANSFORM_LOG":
            value = np.copysign(np.log1p(np.abs(value)), value)
        elif transform == "NUMERIC_TRANSFORM_STANDARD" and cell:
            value = np.float32((float(value) - spec.get("mean", 0.0)) / (spec.get("deviation", 0.0) or 1.0))
        dense.append(np.float32(value) * self.scale)

    def key(self, column, text):
        found = self.keys.get((column, text))
        if found is None:
            if len(self.keys) >= MOST_KEYS_KEPT:
                self.keys.clear()
            found = self.keys[column, text] = field_key(column, text.encode("utf-8", "surrogateescape"))
        return found


def places_of(path):
    """Of each text of a vocabulary: its line, from 0."""
    texts = path.read_bytes().decode("utf-8", "surrogateescape").removeprefix("\ufeff").split("\n")
    return {text: place for place, text in enumerate(texts) if text}


class FeatureParser(CellParser):
    """Cells whose keys belong to features: they are in the records' bags. `places`: of the texts of features that have vocabularies."""

    def __init__(self, data, places):
        super().__init__(data)
        self.places = places
        self.features = data["features"]
        self.names |= {spec.get("column", 0): spec["column_name"] for spec in self.features if spec.get("column_name")}
        weights = [spec["weights"] for spec in self.features if spec.get("weights") is not None]
        self.names |= {column.get("column", 0): column["name"] for column in weights if column.get("name")}

    def take(self, cells, records):
        keys = [list(self.keys_of(spec, cells[spec.get("column", 0)])) for spec in self.features]
        weights = [self.weights_of(spec, cells) for spec in self.features]
        super().take(cells, records)
        records.bags = records.bags or [([], [0], []) for _ in self.features]
        for (all_keys, offsets, all_weights), own, of_own in zip(records.bags, keys, weights):
            all_keys += own
            all_weights += of_own
            offsets.append(len(all_keys))

    def weights_of(self, spec, cells):
        """Of the keys of a feature that has some; none: all are 1."""
        if spec.get("weights") is None:
            return []
        values, texts = (self.values_in(spec, cells[column.get("column", 0)]) for column in (spec, spec["weights"]))
        if len(texts) != len(values):
            raise ValueError(f"{len(texts)} weights for {len(values)} values of {spec['name']}; expected one each")
        weights = [number(text) for text in texts[:spec["most"]]]
        if spec.get("pooling") == "POOLING_MEAN" and min(weights, default=0) < 0:
            raise ValueError(f"weight {min(weights)} of {spec['name']} is not a number from 0 on, as pooling: mean needs it")
        return weights

    @staticmethod
    def values_in(spec, cell):
        return [value for value in cell.split(spec.get("separator") or "|") if value]

    def keys_of(self, spec, cell):
        values = [cell]
        if spec.get("many"):
            values = self.values_in(spec, cell)[:spec["most"]]
        for value in values:
            if value == "" and spec.get("kind") == "KEY_KIND_ID":
                continue
            key, buckets = self.key_of(spec, value), int(spec.get("buckets", 0))
            yield key % buckets if buckets else key

    def key_of(self, spec, value):
        if spec.get("kind") == "KEY_KIND_ID":
            if value.isascii() and value.isdigit() and int(value) < 1 << 64:
                return int(value)
            raise ValueError(f"{value!r} is not an id: a whole number from 0 to 2^64-1")
        hashed = hash_text(value.encode("utf-8", "surrogateescape"))
        if spec.get("kind") != "KEY_KIND_VOCABULARY":
            return hashed
        places, unknown = self.places[spec["name"]], spec["vocabulary"].get("unknown", 0)
        if value in places:
            return places[value]
        if unknown == 0:
            raise ValueError(f"{value!r} is not in the vocabulary of {spec['name']}, which has no unknown texts")
        return len(places) + hashed % unknown


class PairParser:
    """Lines of libsvm and libfm: [label] index:value ... [# comment]. The key is the index."""

    def __init__(self, data):
        self.fields = data.get("fields", 0)

    def check_names(self, line):
        """These files have none."""

    def parse(self, line, records):
        keys, values = [], []
        for place, token in enumerate(filter(None, line.replace("\t", " ").split(" "))):
            if token.startswith("#"):
                break
            if place == 0 and ":" not in token:  # The label.
                continue
            index, colon, value = token.partition(":")
            if not colon or not index.isdigit():
                raise ValueError(f"{token!r} is not index:value")
            keys.append(int(index))
            values.append(number(value))
        if self.fields not in (0, len(keys)):
            raise ValueError(f"{len(keys)} features, expected {self.fields}")
        records.add(keys, values, [])


def images_in(data, contents):
    """The images of an idx file, as dense inputs."""
    magic, dimensions = contents[:3], contents[3]
    if magic != b"\0\0\x08" or dimensions < 2:
        raise ValueError("expected the images of an idx file of unsigned bytes")
    sizes = struct.unpack(f">{dimensions}I", contents[4:4 + 4 * dimensions])
    pixels = np.frombuffer(contents, np.uint8, offset=4 + 4 * dimensions).reshape(sizes[0], -1)
    if pixels.shape[1] != data["dense_width"]:
        raise ValueError(f"images of {pixels.shape[1]} bytes, expected {data['dense_width']}")
    return pixels.astype(np.float32) * np.float32(data.get("numeric_scale", 1))


# ---- towers: services/capstan/model/towers; each returns what it adds to the logits ----

class Inputs:
    """Of a batch, for the towers."""

    def __init__(self, dense, offsets, values, linear, embedding, fields):
        self.dense, self.offsets, self.values = dense, offsets, values
        self.linear, self.embedding = linear, embedding  # A row a key, times its value.
        self.features = dense
        if embedding is not None and fields > 0:
            self.features = np.concatenate([embedding.reshape(len(dense), -1), dense], 1)
        self.fields = fields

    def sums(self, rows):
        """Of the rows of each record."""
        totals = np.concatenate([np.zeros((1, rows.shape[1])), np.cumsum(rows, 0)])
        return totals[self.offsets[1:]] - totals[self.offsets[:-1]]


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


# Between layers; what is not named is ReLU.
ACTIVATIONS = {
    "ACTIVATION_TANH": np.tanh,
    "ACTIVATION_SIGMOID": sigmoid,
    "ACTIVATION_GELU": lambda x: x * 0.5 * (1 + np.vectorize(math.erf, otypes=[float])(x / math.sqrt(2))),
    "ACTIVATION_SILU": lambda x: x * sigmoid(x),
    "ACTIVATION_LEAKY_RELU": lambda x: np.where(x > 0, x, 0.01 * x),
    "ACTIVATION_ELU": lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))),
}


def stack(x, tensors, prefix, tower):
    """Fully connected layers with the tower's activation between them, behind batch norm by what it has learned if they
    have it. Nothing is dropped: that is for training."""
    layers = sum(name.startswith(prefix + "weights_") for name in tensors)
    for i in range(layers):
        x = x @ tensors[f"{prefix}weights_{i}"]
        if f"{prefix}scale_{i}" in tensors:
            deviation = np.sqrt(np.maximum(tensors[f"{prefix}variance_{i}"], 0) + 1e-5)
            x = (x - tensors[f"{prefix}mean_{i}"]) / deviation * tensors[f"{prefix}scale_{i}"]
        x = x + tensors[f"{prefix}bias_{i}"]
        if i + 1 < layers:
            x = ACTIVATIONS.get(tower.get("activation"), lambda y: np.maximum(y, 0))(x)
    return x


def linear(inputs, tensors, _):
    logits = 0.0
    if "weights" in tensors:
        logits = logits + inputs.dense @ tensors["weights"]
    if inputs.linear is not None:
        logits = logits + inputs.sums(inputs.linear)
    return logits


def fm(inputs, _, __):
    squares = inputs.sums(inputs.embedding)**2 - inputs.sums(inputs.embedding**2)
    return 0.5 * squares.sum(1, keepdims=True)


def mlp(inputs, tensors, tower):
    return stack(inputs.features, tensors, "", tower)


def cross(inputs, tensors, tower):
    x = inputs.features
    for i in range(tower["layers"]):
        x = inputs.features * (x @ tensors[f"weights_{i}"] + tensors[f"bias_{i}"]) + x
    return x @ tensors["head"]


def dot(inputs, tensors, tower):
    vectors = inputs.embedding.reshape(len(inputs.dense), inputs.fields, -1)
    own = np.zeros((len(inputs.dense), 0))
    if any(name.startswith("bottom_") for name in tensors):
        own = stack(inputs.dense, tensors, "bottom_", tower)
        vectors = np.concatenate([own[:, None, :], vectors], 1)
    products = vectors @ vectors.transpose(0, 2, 1)
    below = np.tril_indices(vectors.shape[1], -1)  # Row by row.
    return stack(np.concatenate([own, products[:, below[0], below[1]]], 1), tensors, "top_", tower)


def conv(inputs, tensors, tower):
    height, width = tower["image_shape"]
    x = inputs.dense.reshape(len(inputs.dense), height, width, -1)
    for i in range(len(tower["hidden"])):
        height, width = x.shape[1:3]
        padded = np.pad(x, ((0, 0), (1, 1), (1, 1), (0, 0)))
        patches = np.concatenate([padded[:, dy:dy + height, dx:dx + width] for dy in range(3) for dx in range(3)], 3)
        x = np.maximum(patches @ tensors[f"kernel_{i}"] + tensors[f"kernel_bias_{i}"], 0)
        x = x[:, :height // 2 * 2, :width // 2 * 2]
        x = x.reshape(len(x), height // 2, 2, width // 2, 2, -1).max((2, 4))
    return stack(x.reshape(len(x), -1), tensors, "head_", tower)


def bias(_, tensors, __):
    return tensors["bias"][None, :]


TOWERS = {"linear": linear, "fm": fm, "mlp": mlp, "cross": cross, "dot": dot, "conv": conv, "bias": bias}


# ---- the model ----

def load_safetensors(path):
    """The arrays of the file, by name."""
    with open(path, "rb") as file:
        header = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        data = file.read()
    types = {"F32": "<f4", "U64": "<u8"}
    return {name: np.frombuffer(data[slice(*of["data_offsets"])], types[of["dtype"]]).reshape(of["shape"])
            for name, of in header.items() if name != "__metadata__"}


def open_file(path):
    """The bytes of a file, decompressed."""
    if str(path).endswith(".gz"):
        return gzip.open(path, "rb")
    if not str(path).endswith(".zst"):
        return open(path, "rb")
    try:
        import zstandard
    except ImportError:
        raise ValueError(f"{path}: reading .zst needs the module zstandard (Debian: python3-zstandard); or decompress "
                         f"it before: zstd -d {path}") from None
    return io.BufferedReader(zstandard.ZstdDecompressor().stream_reader(open(path, "rb"), read_across_frames=True))


class Table:
    """The rows of keys."""

    def __init__(self, spec, keys, weights):
        self.name, self.segments, self.seed = spec["name"], spec["segments"], int(spec["seed"])
        self.keys, self.weights = keys, weights  # The keys ascend.

    def rows(self, keys):
        """The weights of the rows of keys, an array of uint64; of those that have none, their initial values."""
        weights = np.concatenate([initial_values(segment, self.seed, keys) for segment in self.segments], 1)
        at = np.searchsorted(self.keys, keys)
        found = at < len(self.keys)
        found[found] = self.keys[at[found]] == keys[found]
        weights[found] = self.weights[at[found]]
        return weights

    def rows_of(self, keys):
        """Likewise of any keys: [keys x dim]."""
        distinct, places = np.unique(np.array(keys, np.uint64), return_inverse=True)
        return self.rows(distinct)[places]


def pooled(rows, offsets, weights, mean):
    """The sum or mean of the rows of each record's keys, which count by their weights; none: all are 1. [records x dim]"""
    counts = np.diff(offsets)
    record = np.repeat(np.arange(len(counts)), counts)
    weights = np.array(weights, np.float64) if len(weights) else np.ones(len(record))
    sums = np.zeros((len(counts), rows.shape[1]))
    np.add.at(sums, record, rows * weights[:, None])
    if not mean:
        return sums
    totals = np.bincount(record, weights, len(counts))
    return sums / np.where(totals == 0, 1, totals)[:, None]


def padded(rows, offsets, most=None):
    """The rows of keys by record: [records x most x ...], or as many as any record has, and one at least; zeros behind a record's
    last key."""
    offsets = np.asarray(offsets, np.int64)
    counts = np.diff(offsets)
    record = np.repeat(np.arange(len(counts)), counts)
    filled = np.zeros((len(counts), most or counts.max(initial=1), *rows.shape[1:]), np.float32)
    filled[record, np.arange(len(record)) - np.repeat(offsets[:-1], counts)] = rows
    return filled


class Exported:
    """What was exported, in memory: the job, its tensors and its tables."""

    table = Table

    def __init__(self, folder):
        folder = pathlib.Path(folder)
        self.job = json.loads((folder / "job.json").read_text(encoding="utf-8"))
        self.data, self.model = self.job["data"], self.job["model"]
        arrays = load_safetensors(folder / "model.safetensors")
        self.tensors = {tensor["name"]: arrays[tensor["name"]] for tensor in self.job.get("tensors", [])}
        self.tables = {spec["name"]: self.table(spec, arrays[spec["name"] + ".keys"], arrays[spec["name"] + ".weights"])
                       for spec in self.job.get("tables", [])}
        self.places = {spec["name"]: places_of(folder / f"{spec['name']}.vocabulary.txt")
                       for spec in self.data.get("features", []) if spec.get("vocabulary")}

    @property
    def pairs(self):
        """Whether keys have values of their own."""
        return self.data["format"] in ("DATA_FORMAT_LIBSVM", "DATA_FORMAT_LIBFM")

    def parser(self):
        if self.data.get("features"):
            return FeatureParser(self.data, self.places)
        return PairParser(self.data) if self.pairs else CellParser(self.data)

    def parsed(self, lines):
        records, parser = Records(), self.parser()
        for line in lines:
            parser.parse(line, records)
        return records

    def predictions(self, logits):
        """What logits mean: a probability (logistic), one a class (softmax) or a value (squared); of several labels one
        for each."""
        loss = self.model["loss"]
        if loss == "LOSS_SOFTMAX":
            shares = np.exp(logits - logits.max(1, keepdims=True))
            return shares / shares.sum(1, keepdims=True)
        losses = [label.get("loss", loss) for label in self.data.get("labels", [])] or [loss]
        logistic = np.array(losses) == "LOSS_LOGISTIC"
        scores = logits.copy()
        scores[:, logistic] = sigmoid(logits[:, logistic])
        if self.data.get("labels"):
            return scores
        if self.data.get("standardize_label"):
            return scores[:, 0] * (self.data.get("label_deviation", 0.0) or 1.0) + self.data.get("label_mean", 0.0)
        return scores[:, 0]

    def records(self, path):
        """The records of a file, a batch at a time."""
        if self.data["format"] in ("DATA_FORMAT_TAR", "DATA_FORMAT_TFRECORD", "DATA_FORMAT_FOLDER"):
            raise ValueError(f"{path}: images are not decoded here; `capstan predict` reads them, score_images takes their pixels")
        with open_file(path) as file:
            yield from (self.images_of if self.data["format"] == "DATA_FORMAT_IDX" else self.lines_of)(path, file)

    def images_of(self, _, file):
        pixels = images_in(self.data, file.read())
        for begin in range(0, len(pixels), BATCH):
            records = Records()
            for image in pixels[begin:begin + BATCH]:
                records.add([], [], image)
            yield records

    def lines_of(self, path, file):
        records, parser = Records(), self.parser()
        for i, raw in enumerate(file):
            if i == 0 and raw.startswith(b"PAR1"):
                who = "`capstan predict` reads, and is" if self.data["format"] == "DATA_FORMAT_PARQUET" else "the job did not read, and is"
                raise ValueError(f"{path}: is a Parquet file, which {who} not read here; make a csv of it, with a line of "
                                 "names: pandas.read_parquet(path).to_csv(\"x.csv\", index=False)")
            line = raw.decode("utf-8", "surrogateescape").rstrip("\n")
            line = (line[1:] if i == 0 and line.startswith("\ufeff") else line).removesuffix("\r")
            try:
                if i == 0 and (self.data.get("header") or self.data["format"] == "DATA_FORMAT_PARQUET"):
                    parser.check_names(line)
                    continue
                parser.parse(line, records)
            except (ValueError, csv.Error) as error:
                if line.strip(" \t"):
                    raise ValueError(f"{path}:{i + 1}: {error}") from error
            if len(records) == BATCH:
                yield records
                records = Records()
        if len(records) > 0:
            yield records


class Model(Exported):
    """A model of towers."""

    def __init__(self, folder):
        super().__init__(folder)
        if self.model.get("user"):
            raise ValueError(f"{folder}: the model is the program {self.model['user']}; capstan_ps.load(folder) gives its parameters")
        self.tensors = {name: array.astype(np.float64) for name, array in self.tensors.items()}
        for tower in self.model["towers"]:
            if tower["kind"] not in TOWERS:
                raise ValueError(f"tower {tower['name']}: write its formula and add it to TOWERS: {tower['kind']}")

    def segments(self, keys):
        """The rows of keys, by the names of the table's segments: [keys x width]."""
        segments = {}
        for table in self.tables.values():  # One, or none.
            rows = table.rows_of(keys)
            for segment in table.segments:
                begin = segment.get("offset", 0)
                segments[segment["name"]] = rows[:, begin:begin + segment["width"]]
        return segments

    def logits(self, keys, values, offsets, dense):
        segments = {name: rows * values[:, None].astype(np.float64) for name, rows in self.segments(keys).items()}
        return self.sum_of_towers(
            Inputs(dense, offsets, values, segments.get("linear"), segments.get("embedding"), self.data.get("fields", 0)))

    def inputs_of_bags(self, records, dense):
        """With data.features: what a record has of each is a vector, which towers take for the row of a key."""
        features = self.data["features"]
        vectors = {"linear": [], "embedding": []}
        for spec, (keys, offsets, weights) in zip(features, records.bags or [([], [0], [])] * len(features)):
            table = self.tables[spec["table"]]
            rows = pooled(table.rows_of(keys).astype(np.float64), offsets, weights, spec.get("pooling") == "POOLING_MEAN")
            for segment in table.segments:
                begin = segment.get("offset", 0)
                vectors[segment["name"]].append(rows[:, begin:begin + segment["width"]])
        of_keys = {name: np.stack(of, 1).reshape(len(dense) * len(features), -1) for name, of in vectors.items()
                   if len({one.shape[1] for one in of}) == 1}  # Embeddings of several lengths only stand side by side.
        offsets = np.arange(len(dense) + 1) * len(features)
        inputs = Inputs(dense, offsets, np.ones(offsets[-1]), of_keys.get("linear"), of_keys.get("embedding"), len(features))
        inputs.features = np.concatenate([*vectors["embedding"], dense], 1)
        return inputs

    def sum_of_towers(self, inputs):
        logits = np.zeros((len(inputs.dense), self.model.get("outputs", 1)))
        for tower in self.model["towers"]:
            prefix = tower["name"] + "/"
            own = {name[len(prefix):]: array for name, array in self.tensors.items() if name.startswith(prefix)}
            logits = logits + TOWERS[tower["kind"]](inputs, own, {**tower, "image_shape": self.data.get("image_shape")})
        return logits

    def score_records(self, records):
        dense = records.numbers(self.data.get("dense_width", 0)).astype(np.float64)
        if self.data.get("features"):
            return self.predictions(self.sum_of_towers(self.inputs_of_bags(records, dense)))
        return self.predictions(self.logits(np.array(records.keys, np.uint64), np.array(records.values, np.float32),
                                            np.array(records.offsets), dense))

    def score(self, lines):
        """Of lines of text in the format of the job, without a line of names."""
        return self.score_records(self.parsed(lines))

    def onnx_inputs(self, lines):
        """What model.onnx takes of these lines, by the names of its inputs; among them may be some that no tower reads."""
        records = self.parsed(lines)
        if self.data.get("features"):
            return self.onnx_inputs_of_bags(self.inputs_of_bags(records, records.numbers(self.data.get("dense_width", 0))))
        of_keys = self.segments(np.array(records.keys, np.uint64))
        if self.pairs and of_keys:
            of_keys["values"] = np.array(records.values, np.float32)
        inputs = {name: padded(rows, records.offsets, self.data.get("fields")) for name, rows in of_keys.items()}
        if width := self.data.get("dense_width"):
            inputs["numbers"] = records.numbers(width)
        return inputs

    def onnx_inputs_of_bags(self, inputs):
        count, width = len(inputs.dense), inputs.dense.shape[1]
        of_features = {name: rows.reshape(count, inputs.fields, -1) for name, rows in (("linear", inputs.linear), ("embedding", inputs.embedding))
                       if rows is not None}
        of_features |= {"embeddings": inputs.features[:, :inputs.features.shape[1] - width], "numbers": inputs.dense}
        return {name: array.astype(np.float32) for name, array in of_features.items()}

    def score_images(self, pixels):
        """Of dense inputs: [records x dense_width]."""
        none = np.zeros(0, np.uint64), np.zeros(0, np.float32), np.zeros(len(pixels) + 1, np.int64)
        return self.predictions(self.logits(*none, pixels.astype(np.float64)))

    def score_file(self, path):
        """Scores of the records of a file, a batch at a time."""
        for records in self.records(path):
            yield self.score_records(records)


def text_of(score):
    """The scores of a record, with commas between them: each the shortest text that reads back as the same number of 32 bits."""
    return ",".join(str(value).removesuffix(".0") for value in np.atleast_1d(score).astype(np.float32))


def main(paths):
    if not paths or paths[0].startswith("-"):
        sys.exit(__doc__)
    try:
        model = Model(pathlib.Path(__file__).resolve().parent)
        for path in paths:
            for scores in model.score_file(path):
                for score in scores:
                    print(text_of(score))
    except (OSError, ValueError) as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main(sys.argv[1:])
