"""A client of a running job, for programs that are no part of the job, such as notebooks.

    import capstan_ps as cap
    job = cap.connect("localhost:7000")
    job.status()
    rows = job.tables["user"].pull([12, 345])
    weight = job.tensors["mlp.0.weight"].pull()
    job.session().push(tables={"user": ([12, 345], gradients)})

See docs/python.md."""

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
    """Returns a running job.

    By default it is the job of the chief at `chief`, a host:port (localhost:7000 if omitted). With `kubernetes`, as `release` or
    `namespace/release`, it is the job of that release of the Helm chart. In a pod, this is a release in the pod's own cluster. Outside of
    a cluster, or if `context` names a context of kubectl, it is a release in the cluster that kubectl reaches, and is reached by kubectl.

    `tls` is the folder of a certificate in the role `client`. The default is the folder that the environment variable CAPSTAN_TLS names;
    with `kubernetes`, otherwise /etc/capstan-tls if a certificate is there. Without a folder the connection is plaintext.

    A call waits `chief_patience` seconds for a chief that does not answer or has no job yet, and `pull_patience` seconds for values while
    a shard is replaced.

    ConnectionError: nobody has answered. ValueError: the folder or the arguments are wrong. With kubectl, also LookupError: there is no
    such release; PermissionError: the user may not forward ports to its pods; RuntimeError: there is no kubectl."""
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
            forwards.close()  # Without this, a traceback that is kept would keep kubectl running.
        raise
    return job


class Job:
    """A running job. Several threads may use it; it serves one of them at a time."""

    def __init__(self, client, chief):
        self._client, self.chief = client, chief

    def status(self):
        """Returns the present Status of the job."""
        return Status(self._client.status())

    @property
    def spec(self):
        """The settings of job.yaml, as the chief has read them."""
        return self._client.describe()

    @property
    def tables(self):
        """The tables of the job: {name: Table}."""
        spec = self.spec
        return _Named(f"job {spec.job} has no table", {each.name: Table(self._client, each) for each in spec.tables})

    @property
    def tensors(self):
        """The dense tensors of the job: {name: Tensor}."""
        spec = self.spec
        return _Named(f"job {spec.job} has no tensor", {each.name: Tensor(self._client, each) for each in spec.tensors})

    def session(self):
        """Returns a Session, which pushes gradients that the program computes itself."""
        return Session(self._client)

    def __repr__(self):
        return f"Job(chief={self.chief!r})"


class Table:
    """A table of the job: rows of `dim` numbers, one for each key."""

    def __init__(self, client, spec):
        self._client, self.name, self.dim = client, spec.name, spec.dim

    def pull(self, keys):
        """Returns the present rows of the keys: [keys, dim], float32. For a key that training has not met yet this is the initial row, and
        the pull does not create it."""
        keys = keys_of(self.name, keys)
        return self._client.pull_rows(self.name, keys).reshape(len(keys), self.dim)

    def __repr__(self):
        return f"Table({self.name!r}, dim={self.dim})"


class Tensor:

    def __init__(self, client, spec):
        self._client, self.name, self.shape = client, spec.name, tuple(spec.shape)

    def pull(self):
        """Returns the present values, float32, in the tensor's shape."""
        return self._client.pull_tensor(self.name).reshape(self.shape)

    def __repr__(self):
        return f"Tensor({self.name!r}, shape={self.shape})"


class Session:
    """Pushes gradients of a program that is no worker of the job. The job's optimizers apply each gradient to the present parameters, as
    they apply a worker's. The job's counts of examples and steps and its clocks do not change. Parts of a job that are updated in
    synchronous rounds accept no such gradients.

    Messages that are lost are sent again, and no gradient is applied twice. A push that has failed may have been carried out in part; the
    program completes it by repeating it with the same `number`. `timeline` is that of the last push. When it changes, the job has returned
    to a checkpoint, and earlier pushes may be undone. A session that is silent for half an hour is over; begin another one."""

    def __init__(self, client):
        self._client, self._id = client, secrets.randbits(62)
        self._tensors = [tensor.name for tensor in client.describe().tensors]
        self.number, self.timeline = -1, None

    def push(self, tables=None, tensors=None, *, number=None):
        """Has the shards apply gradients of rows, `tables` = {table: (keys, [keys, dim])}, and of tensors, `tensors` = {name: an array of
        its shape}. The gradients of a key that comes twice are added. Returns the number of the push, by default the next one.

        ValueError: the gradients do not fit, or their part of the job accepts none. KeyError: the job has no such table or tensor.
        ConnectionError: shards have not answered in time. RuntimeError: the job is over."""
        number = self.number + 1 if number is None else operator.index(number)
        if number < max(self.number, 0):
            raise ValueError(f"push {number} of this session: {self.number} has been pushed, and what follows has a higher number, or the "
                             "same, which repeats it")
        rows = [(name, *self._rows(name, *of)) for name, of in (tables or {}).items()]
        dense = sorted((self._place(name), name, _floats(f"tensor {name}", values).reshape(-1)) for name, values in (tensors or {}).items())
        for _, name, values in dense:  # Checked before anything is sent, as rows are above.
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
    """Returns the values as a contiguous array of float32. They may be a PyTorch tensor, on any device."""
    values = values.detach().cpu() if hasattr(values, "detach") else values
    array = np.asarray(values)
    if array.dtype.kind not in "fiu":
        raise ValueError(f"the gradient of {of} is made of numbers, not {array.dtype}")
    return np.ascontiguousarray(array, np.float32)


class UnknownName(KeyError):

    def __str__(self):
        return str(self.args[0])


class _Named(collections.abc.Mapping):
    """A dictionary whose error for a name that it lacks lists the names that it has."""

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
    """Returns the number with four digits after the point, or four significant ones below a thousandth, as `capstan status` does."""
    return f"{number:.4g}" if 0 < abs(number) < 1e-3 else f"{number:.4f}"


class Status:
    """The status of the job as the chief reports it: `state`, `progress` (0 to 1), `examples`, `loss`, `workers`, `shards`, `evaluations`
    (each with `examples` and `metrics`), and all other fields of GetStatusReply in proto/capstan/v1/chief.proto. Notebooks show it as a
    table, and other programs as text."""

    def __init__(self, said):
        vars(self).update(vars(said))

    def facts(self):
        """Returns the facts of the whole job: [(what, text)]."""
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
        """Yields the tables of workers and shards: (the headings of the columns, the rows)."""
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
