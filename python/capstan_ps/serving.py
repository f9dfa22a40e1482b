"""The side of the user's program in `capstan serve --program`. The command reads checkpoints and requests, looks up rows, and sends
batches; the program answers with the logits of its predict. services/cli/serve/program_socket.h describes the messages."""

import json
import os
import socket
import struct
import sys
import traceback

import numpy as np

from capstan_ps import _capstan
from capstan_ps import worker as _worker
from capstan_ps.model import Unlabelled

MODEL, BATCH, READY, LOGITS, FAILED = range(1, 6)
VARIABLE = "CAPSTAN_SERVE"  # The descriptor of the socket.


class Gone(Exception):
    """The command has closed its end of the socket."""


class Channel:
    """The connection to the command: messages that consist of arrays of bytes."""

    def __init__(self, descriptor):
        self._socket = socket.socket(fileno=descriptor)

    def receive(self):
        """Returns the kind and the parts of the next message."""
        kind, count = struct.unpack("<II", self._bytes(8))
        sizes = struct.unpack(f"<{count}Q", self._bytes(8 * count))
        return kind, [self._bytes(size) for size in sizes]

    def send(self, kind, *parts):
        head = struct.pack(f"<II{len(parts)}Q", kind, len(parts), *map(len, parts))
        self._socket.sendall(b"".join((head, *parts)))

    def _bytes(self, size):
        found = bytearray(size)
        view = memoryview(found)
        while view:
            got = self._socket.recv_into(view)
            if got == 0:
                raise Gone
            view = view[got:]
        return found


def channel():
    """Returns the connection to the command that serves; None if there is none, as the program is a worker."""
    descriptor = os.environ.pop(VARIABLE, "")  # Removed, so that processes which the program starts do not get it.
    try:
        return Channel(int(descriptor)) if descriptor else None
    except (OSError, ValueError) as error:
        print(f"capstan_ps: {VARIABLE}={descriptor} is no socket: {error}; it is set by `capstan serve --program`", file=sys.stderr)
        raise SystemExit(2) from None


def serve(to, begin, logits):
    """Answers requests until the command closes its end, and then ends the process. `begin(job)` returns the model and its tensors.
    `logits(model, asked, job)` returns the logits of a batch, as finish_logits takes them."""
    try:
        _, (text, parameters) = to.receive()
        job = _capstan.Job.from_json(text.decode())
        try:
            model, tensors = begin(job)
            fit(tensors.shapes(), {one["name"]: one.get("shape", []) for one in json.loads(text).get("tensors", [])})
            tensors.take(Parameters(parameters))
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # Also SystemExit.
            _tell(to, error)
            raise SystemExit(3) from None
        to.send(READY)
        while True:
            _, parts = to.receive()
            try:
                asked = _Asked(parts, job)
                answer = np.asarray(logits(model, asked, job)).tobytes()
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                _tell(to, error)
            else:
                to.send(LOGITS, answer)
    except (Gone, OSError):  # Nobody waits for an answer.
        raise SystemExit(0) from None


def fit(own, shapes):
    """Refuses a program whose tensors, `own` = {name: shape}, have other names or shapes than the model's, `shapes`."""
    for name in sorted({*own, *shapes}, key=str.encode):
        if own.get(name) != shapes.get(name):
            program, model = (f"a tensor of {of[name]}" if name in of else "no such tensor" for of in (own, shapes))
            raise _worker.Refused(f"{name}: the program has {program}, and the model {model}")


def _tell(to, error):
    """Writes the traceback to the log, and sends one line about the error to the command."""
    traceback.print_exception(type(error), error, error.__traceback__)
    sys.stderr.flush()
    said = " ".join(str(error).split())[:500]
    if not isinstance(error, _worker.Refused):
        said = f"{_worker.place(error)}: {type(error).__name__}: {said}"
    to.send(FAILED, said.encode("utf-8", "replace"))


def _array(data, dtype):
    return np.frombuffer(data, dtype) if data else np.empty(0, dtype)


class Parameters:
    def __init__(self, data):
        self._flat = _array(data, np.float32)

    def parameters(self):
        return self._flat


class _Asked(Unlabelled):
    """Records whose rows the command has looked up, with the interface of a step."""

    def __init__(self, parts, job):
        rest = iter(parts)
        self._numbers, self._values = (_array(next(rest), np.float32) for _ in range(2))
        self._begins = _array(next(rest), np.int64).tolist()
        self._offsets, self._weights = [], []
        for _ in job.features:
            self._offsets.append(_array(next(rest), np.int32))
            self._weights.append(_array(next(rest), np.float32))
        if not job.features:
            self._offsets.append(_array(next(rest), np.int32))
        self.examples = len(self._offsets[0]) - 1
        self._tables = [self._table(rest, dim) for dim in job.dims or [0]]
        self._width = job.numbers

    @staticmethod
    def _table(rest, dim):
        keys, index, rows = (_array(next(rest), dtype) for dtype in (np.int64, np.int32, np.float32))
        return keys, index, rows.reshape(len(keys) if dim else 0, dim)

    def numbers(self):
        return self._numbers.reshape(self.examples, self._width)

    def values(self):
        return self._values if len(self._values) else None

    def offsets(self):
        return self._offsets[0]

    def feature_offsets(self, place):
        return self._offsets[place]

    def feature_weights(self, place):
        return self._weights[place] if len(self._weights[place]) else None

    def feature_begin(self, place):
        return self._begins[place]

    def keys(self, table):
        return self._tables[table][0]

    def index(self, table):
        return self._tables[table][1]

    def rows(self, table):
        return self._tables[table][2]
