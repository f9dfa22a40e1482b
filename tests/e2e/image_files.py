"""The same images in every format: idx, PNGs in tar, in TFRecord and in folders."""

import importlib.machinery
import importlib.util
import pathlib
import struct
import sys

from crc32c import crc32c

ROOT = pathlib.Path(__file__).resolve().parents[2]
loader = importlib.machinery.SourceFileLoader("idx_to_tar", str(ROOT / "deploy/examples/images/idx-to-tar"))
loader_spec = importlib.util.spec_from_loader("idx_to_tar", loader)
sys.dont_write_bytecode = True
idx_to_tar = importlib.util.module_from_spec(loader_spec)
loader.exec_module(idx_to_tar)


def masked(content):
    value = crc32c(content)
    return struct.pack("<I", (((value >> 15) | (value << 17)) + 0xA282EAD8) & 0xFFFFFFFF)


def varint(number):
    return bytes([number]) if number < 128 else bytes([number & 127 | 128]) + varint(number >> 7)


def field(number, content):
    return varint(number << 3 | 2) + varint(len(content)) + content


def record(image, label):
    """A tf.train.Example as TFRecord has it."""
    features = b"".join(field(1, field(1, name) + field(2, feature)) for name, feature in (
        (b"image/encoded", field(1, field(1, image))), (b"image/class/label", field(3, field(1, varint(label))))))
    message = field(1, features)
    length = struct.pack("<Q", len(message))
    return length + masked(length) + message + masked(message)


def write_class(to, of, side, images):
    """One class's grey images of side x side in the folder `to`: a file of each format, so that every format makes the same tasks."""
    (to / "folder" / f"c{of}").mkdir(parents=True)
    base = to / f"{of}-images-idx3"
    base.write_bytes(struct.pack(">BBBB3I", 0, 0, 8, 3, len(images), side, side) + b"".join(images))
    (to / f"{of}-labels-idx1").write_bytes(struct.pack(">BBBBI", 0, 0, 8, 1, len(images)) + bytes([of]) * len(images))
    idx_to_tar.main(base, to / f"{of}.tar")
    encoded = [idx_to_tar.png(side, side, image) for image in images]
    (to / f"{of}.tfrecord").write_bytes(b"".join(record(image, of) for image in encoded))
    for i, image in enumerate(encoded):
        (to / "folder" / f"c{of}" / f"{i:04}.png").write_bytes(image)
