#!/usr/bin/python3
"""What the sides of the section `python` need, made once: prepare.py CLICKS FOLDER

FOLDER gets clicks.csv.gz, CLICKS (a csv of the click log) as `gzip` compresses it; clicks.npz, the first RECORDS records of
CLICKS with their ids numbered; images/*.tar and images.npz, the same images as PNGs and as arrays; columns.csv, records of 40 ids
each, which no two columns share; cells.parquet, 30 columns of numbers and texts with dictionaries, compressed by snappy."""

import array
import ctypes
import gzip
import io
import pathlib
import random
import shutil
import sys
import tarfile

import numpy

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "e2e"))
import parquet_writer as parquet
from image_files import idx_to_tar

import models

RECORDS = 300_000
IMAGES, TARS = 2048, 16
COLUMNS, ROWS, VALUES = 40, 200_000, 20_000
CELLS = 400_000


def clicks(source, to):
    known, ids, labels = {}, numpy.empty((RECORDS, models.FIELDS), numpy.int32), numpy.empty(RECORDS, numpy.float32)
    with open(source, encoding="ascii") as file:
        for row, line in zip(range(RECORDS), file):
            label, *cells = line.rstrip("\n").split(",")
            labels[row] = float(label)
            ids[row] = [known.setdefault((column, cell), len(known)) for column, cell in enumerate(cells)]
    numpy.savez(to, ids=ids, labels=labels, count=len(known))


def packed(source, to):
    with open(source, "rb") as plain, gzip.open(to, "wb", compresslevel=6) as compressed:
        shutil.copyfileobj(plain, compressed, 1 << 20)


def images(folder):
    draw = numpy.random.default_rng(1)
    pixels = draw.integers(0, 256, (IMAGES, models.SIDE, models.SIDE, 3), numpy.uint8)
    labels = draw.integers(0, models.CLASSES, IMAGES)
    (folder / "images").mkdir(exist_ok=True)
    for part in range(TARS):
        with tarfile.open(folder / f"images/{part:02}.tar", "w") as tar:
            for i in range(part, IMAGES, TARS):
                for name, content in ((f"{i:05}.png", idx_to_tar.png(models.SIDE, models.SIDE, pixels[i].tobytes())), (f"{i:05}.cls", b"%d" % labels[i])):
                    member = tarfile.TarInfo(name)
                    member.size = len(content)
                    tar.addfile(member, io.BytesIO(content))
    numpy.savez(folder / "images.npz", pixels=pixels.transpose(0, 3, 1, 2), labels=labels)


def columns(to):
    """Ids as frequent as 1 / (1 + rank): the same keys, whether they lie in one table or in forty."""
    draw = numpy.random.default_rng(2)
    ranks = numpy.minimum(numpy.expm1(draw.random((ROWS, COLUMNS)) * numpy.log(VALUES)).astype(numpy.int64), VALUES - 1)
    ids = ranks + numpy.arange(COLUMNS) * VALUES
    labels = draw.integers(0, 2, ROWS)
    with open(to, "w", encoding="ascii") as file:
        file.write(",".join(["label", *(f"c{i}" for i in range(COLUMNS))]) + "\n")
        for label, row in zip(labels.tolist(), ids.tolist()):
            file.write(f"{label},{','.join(map(str, row))}\n")


def snappy(content):
    """Compressed, by the library that Capstan links, too."""
    library = ctypes.CDLL("libsnappy.so.1")
    room = ctypes.c_size_t(library.snappy_max_compressed_length(ctypes.c_size_t(len(content))))
    out = ctypes.create_string_buffer(room.value)
    if library.snappy_compress(content, ctypes.c_size_t(len(content)), out, ctypes.byref(room)) != 0:
        raise ValueError("snappy")
    return out.raw[:room.value]


def cells(to):
    """As a click log is stored: a label, 13 numbers, and 16 columns of texts of 8 hexadecimal digits."""
    draw, random_texts = numpy.random.default_rng(3), random.Random(3)
    written = [parquet.Column("label", "int64", array.array("q", draw.integers(0, 2, CELLS).tobytes()))]
    for i in range(13):
        values = numpy.floor(numpy.exp(draw.normal(3, 2, CELLS)))
        written.append(parquet.Column(f"number{i}", "double", array.array("d", values.tobytes())))
    for i in range(16):
        count = 4 ** (i % 7 + 1)
        texts = [f"{random_texts.getrandbits(32):08x}".encode() for _ in range(count)]
        places = numpy.minimum(draw.zipf(1.3, CELLS) - 1, count - 1).astype(numpy.uint16)
        written.append(parquet.Column(f"text{i}", "text", places=array.array("H", places.tobytes()), dictionary=texts))
    parquet.write(to, written, rows_a_group=100_000, compress=snappy, codec=parquet.SNAPPY)


def main():
    source, folder = map(pathlib.Path, sys.argv[1:])
    folder.mkdir(parents=True, exist_ok=True)
    clicks(source, folder / "clicks.npz")
    packed(source, folder / "clicks.csv.gz")
    images(folder)
    columns(folder / "columns.csv")
    cells(folder / "cells.parquet")
    (folder / "made").touch()


if __name__ == "__main__":
    main()
