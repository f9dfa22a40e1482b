"""A job that runs, as a program sees it that is no part of it, such as a notebook.

    import capstan_ps as cap
    job = cap.connect("localhost:7000")
    job.status()
    rows = job.tables["user"].pull([12, 345])
    weight = job.tensors["mlp.0.weight"].pull()
    job.session().push(tables={"user": ([12, 345], gradients)})

docs/python.md tells of it."""

import collections.abc
import html
import operator
import os
import secrets

import numpy as np

from capstan_ps import _capstan
from capstan_ps.keys import keys_of
from capstan_ps.kubernetes import chief_of, in_a_pod, tls_folder
from capstan_ps.port_forward import PortForwards

LOCAL_CHIEF = "localhost:7000"


def connect(chief=None, *, kubernetes=None, context=None, tls=None, chief_patience=10, pull_patience=60):
    """The job of the chief at host:port, by default localhost:7000; or that of the release of the chart which `kubernetes` names, as
    `release` or `namespace/release`: in a pod, of the same cluster, and elsewhere, or where one of kubectl's contexts is named by
    `context`, of the cluster that kubectl reaches, and by kubectl. `tls` is the folder of a certificate in the role `client`,
    by default that of the environment variable CAPSTAN_TLS, with `kubernetes` otherwise /etc/capstan-tls if there is a certificate, and
    otherwise nothing: plaintext. A call waits `chief_patience` seconds for a chief that does not answer or has no job yet,
    and `pull_patience` for values while a shard is replaced. ConnectionError: nobody has answered. ValueError: what is wrong
    with the folder, or with these arguments. By kubectl, also LookupError: there is no such release; PermissionError: the user may
    not forward ports to its pods; RuntimeError: there is no kubectl."""
    if kubernetes is not None and chief is not None:
        raise ValueError("either the address of a chief, or kubernetes=\"namespace/release\"")
    if kubernetes is None and context is not None:
        raise ValueError("context= is one of kubectl's, and is of use with kubernetes=\"namespace/release\" only")
    if chief is None:
        chief = LOCAL_CHIEF if kubernetes is None else chief_of(kubernetes)
    if tls is None:
        tls = os.environ.get("CAPSTAN_TLS") or ("" if kubernetes is None else tls_folder())
    outside = kubernetes is not None and (context is not None or not in_a_pod())
    forwards = PortForwards(chief, context) if outside else None
    try:
        job = Job(_capstan.JobClient(chief=chief, tls=os.fspath(tls), chief_patience=chief_patience, pull_patience=pull_patience,
                                     resolver=forwards), chief)
        job.status()
    except BaseException:
        if forwards is not None:
            forwards.close()  # A traceback that is kept keeps them, too.
        raise
    return job


class Job:
    """May be used by several threads, one of which is served at a time."""

    def __init__(self, client, chief):
        self._client, self.chief = client, chief

    def status(self):
        """How the job stands now."""
        return Status(self._client.status())

    @property
    def spec(self):
        """What job.yaml says, as the chief has read it."""
        return self._client.describe()

    @property
    def tables(self):
        """{name: Table}"""
        spec = self.spec
        return _Named(f"job {spec.job} has no table", {each.name: Table(self._client, each) for each in spec.tables})

    @property
    def tensors(self):
        """{name: Tensor}"""
        spec = self.spec
        return _Named(f"job {spec.job} has no tensor", {each.name: Tensor(self._client, each) for each in spec.tensors})

    def session(self):
        """For gradients that the program itself computes: see Session."""
        return Session(self._client)

    def __repr__(self):
        return f"Job(chief={self.chief!r})"


class Table:
    """Rows of `dim` numbers, each of which has a key."""

    def __init__(self, client, spec):
        self._client, self.name, self.dim = client, spec.name, spec.dim

    def pull(self, keys):
        """[keys, dim], float32, as they stand now. A key that training has not met yet has the row with which it would begin, and
        does not come into being by that."""
        keys = keys_of(self.name, keys)
        return self._client.pull_rows(self.name, keys).reshape(len(keys), self.dim)

    def __repr__(self):
        return f"Table({self.name!r}, dim={self.dim})"


class Tensor:

    def __init__(self, client, spec):
        self._client, self.name, self.shape = client, spec.name, tuple(spec.shape)

    def pull(self):
        """In its shape, float32, as it stands now."""
        return self._client.pull_tensor(self.name).reshape(self.shape)

    def __repr__(self):
        return f"Tensor({self.name!r}, shape={self.shape})"


class Session:
    """Pushes of a program that is no worker of the job. Its optimizers apply each gradient to the parameters as they stand, as they do with
    a worker's; the job's examples, steps and clocks know nothing of it. Parts of a job that are updated in synchronous rounds take none.

    What is lost on the way comes again and never counts twice. A push that has failed may have been carried out in part: whoever repeats
    it with the same `number` completes it. `timeline` is that of the last push: when it changes, the job has returned to a
    checkpoint, and what was pushed before may be undone. A session that is silent for half an hour is over; begin another one."""

    def __init__(self, client):
        self._client, self._id = client, secrets.randbits(62)
        self._tensors = [tensor.name for tensor in client.describe().tensors]
        self.number, self.timeline = -1, None

    def push(self, tables=None, tensors=None, *, number=None):
        """Carries out gradients: of rows, {table: (keys, [keys, dim])}, those of a key that comes twice being added, and of tensors,
        {name: an array of its shape}. By default its number is the next one; returns it. ValueError: gradients that do not fit,
        or a part of the job that takes none. KeyError: what the job has not. ConnectionError: shards have not answered in time. RuntimeError:
        the job is over."""
        number = self.number + 1 if number is None else operator.index(number)
        if number < max(self.number, 0):
            raise ValueError(f"push {number} of this session: {self.number} has been pushed, and what follows has a higher number, or the "
                             "same, which repeats it")
        rows = [(name, *self._rows(name, *of)) for name, of in (tables or {}).items()]
        dense = sorted((self._place(name), name, _floats(f"tensor {name}", values).reshape(-1)) for name, values in (tensors or {}).items())
        for _, name, values in dense:  # What is wrong with rows is found before any of them is sent.
            self._client.check_tensor(name, values)
        self.number = number
        if rows:
            self.timeline = self._client.push_rows(self._id, number, rows)
        for place, name, values in dense:
            self.timeline = self._client.push_tensor(self._id, number * len(self._tensors) + place, name, values)
        return number

    @staticmethod
    def _rows(table, keys, gradients):
        keys, gradients = keys_of(table, keys), _floats(f"table {table}", gradients)
        if gradients.ndim != 2 or len(gradients) != len(keys):
            raise ValueError(f"the gradients of table {table} are a row for each of its {len(keys)} keys, not of shape {gradients.shape}")
        return keys, gradients.reshape(-1)

    def _place(self, tensor):
        if tensor not in self._tensors:
            raise UnknownName(f"the job has no tensor {tensor!r}; it has {', '.join(self._tensors) or 'none'}")
        return self._tensors.index(tensor)


def _floats(of, values):
    """An array of float32, whole in memory; also of a PyTorch tensor, on whatever device."""
    values = values.detach().cpu() if hasattr(values, "detach") else values
    array = np.asarray(values)
    if array.dtype.kind not in "fiu":
        raise ValueError(f"the gradient of {of} is made of numbers, not {array.dtype}")
    return np.ascontiguousarray(array, np.float32)


class UnknownName(KeyError):

    def __str__(self):
        return str(self.args[0])


class _Named(collections.abc.Mapping):
    """A dictionary that tells of a name that it lacks which ones it has."""

    def __init__(self, lacks, entries):
        self._lacks, self._entries = lacks, entries

    def __getitem__(self, name):
        if name in self._entries:
            return self._entries[name]
        raise UnknownName(f"{self._lacks} {name!r}; it has {', '.join(self._entries) or 'none'}")

    def __iter__(self):
        return iter(self._entries)

    def __len__(self):
        return len(self._entries)

    def __repr__(self):
        return repr(self._entries)


def decimals(number):
    """Four digits behind the point; of what is smaller than a thousandth, four significant ones, as `capstan status` has them."""
    return f"{number:.4g}" if 0 < abs(number) < 1e-3 else f"{number:.4f}"


class Status:
    """What the chief says of the job: `state`, `progress` (0 to 1), `examples`, `loss`, `workers`, `shards`, `evaluations`,
    each with `examples` and `metrics`, and all else of GetStatusReply in proto/capstan/v1/chief.proto. A table in a notebook,
    and text elsewhere."""

    def __init__(self, said):
        vars(self).update(vars(said))

    def facts(self):
        """[(what, text)] of the whole job."""
        of_all = f" of {self.examples_expected:,}" if self.examples_expected else ""
        found = [("job", self.job), ("state", self.state), ("progress", f"{self.progress:.1%}"),
                 ("examples", f"{self.examples:,}{of_all}, {self.examples_per_second:,.0f}/s"),
                 ("step", f"{self.global_step:,}"), ("loss", decimals(self.loss) if self.loss else "not known yet")]
        if self.evaluations:
            metrics = self.evaluations[-1].metrics
            found.append(("held out", "  ".join(f"{name} {decimals(metrics[name])}" for name in sorted(metrics))))
        for what, text in (("waiting for", self.waiting_for), ("because", self.reason), *(("warning", text) for text in self.warnings)):
            if text:
                found.append((what, text))
        return found

    def tables(self):
        """[(heading of each column, rows)] of workers and shards."""
        if self.workers:
            yield ("worker", "state", "examples/s", "steps"), [
                (worker.name, worker.state, f"{worker.examples_per_second:,.0f}", f"{worker.steps:,}") for worker in self.workers]
        if self.shards:
            yield ("shard", "state", "pushes/s", "rows", "MiB"), [
                (str(shard.index), shard.state, f"{shard.pushes_per_second:,.0f}", f"{shard.report.rows:,}",
                 f"{shard.report.parameter_bytes / 2**20:,.1f}") for shard in self.shards]

    def __str__(self):
        lines = [f"{what:<12}{text}" for what, text in self.facts()]
        for heading, rows in self.tables():
            width = [max(len(row[i]) for row in (heading, *rows)) for i in range(len(heading))]
            lines += ["", *("  ".join(cell.ljust(width[i]) for i, cell in enumerate(row)).rstrip() for row in (heading, *rows))]
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self):
        def table(rows, head=()):
            body = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in rows)
            return "<table>" + ("<tr>" + "".join(f"<th>{cell}</th>" for cell in head) + "</tr>" if head else "") + body + "</table>"

        return table(self.facts()) + "".join(table(rows, heading) for heading, rows in self.tables())
