"""Trains models on Capstan's shards that compute with NumPy, or with any library whose arrays NumPy can read. Does not need PyTorch.

    import capstan_ps.numpy as cn
    cn.train(build, step, predict)

- `build(job)` returns the initial dense tensors, {name: array of float32}. An entry `frozen(array)` never changes, and an entry
  `running(array)` is changed by steps but not trained.
- `step(params, batch)` returns the losses, one for each example, and their Gradients.
- `predict(params, batch)` returns the logits of a held-out batch; for a job with several labels, {label: array}.

See docs/python.md."""

import difflib
import importlib.util
import sys
import typing

import numpy as np

from capstan_ps import loop as _loop
from capstan_ps import worker as _worker
from capstan_ps.batch import Named, UnknownName  # noqa: F401  Programs import them from here.
from capstan_ps.numpy_batch import Bags, Batch  # noqa: F401  The same.


class Gradients(typing.NamedTuple):
    """The gradients of the sum of the losses, each times `batch.scale`. A tensor or table that is not named has no gradient."""

    tensors: dict  # {name in build: gradient in the tensor's shape}.
    tables: dict = {}  # {table: [distinct keys, dim]}, in the order of the rows in `batch.tables`.
    running: dict = {}  # The new values of running tensors. Those that are not named keep their value.


class _Declared(typing.NamedTuple):
    role: str
    array: typing.Any


def _declared(value):
    return value if isinstance(value, _Declared) else _Declared("trained", value)


def frozen(array):
    """Marks an array that `build` returns as a tensor that never changes. Workers pull it once, and push nothing for it."""
    return _Declared("frozen", array)


def running(array):
    """Marks an array that `build` returns as a running tensor, such as a running mean: it is not trained, and each step changes it. In a
    synchronous job its next value is the mean of the values in the lanes."""
    return _Declared("running", array)


def train(build, step, predict=None):
    """Works on the job that the environment names until the job is over, and then ends the process. The exit code is 0 if the job is over
    or this worker was asked to end, 1 if the job was started over with other settings, 2 if the program and the job do not fit, and 3 if
    the program has failed. Under `capstan serve --program` there is no job: the process computes the requested scores by `predict`."""
    _loop.run(_loop.Front(
        begin=lambda job: _begin(build, job),
        train=lambda params, tensors, taken, job: _train(params, tensors, step, taken, job),
        logits=lambda params, taken, job: _logits(params, predict, taken, job),
        facts=_facts), step, predict)


def _begin(build, job):
    """Returns the dictionary of arrays that each step gets, and the tensors, which renew the arrays in it."""
    if importlib.util.find_spec("threadpoolctl"):
        import threadpoolctl
        threadpoolctl.threadpool_limits(job.step_threads)
    _loop.seed(job.seed)
    tensors = _Tensors(build(job))
    return tensors.params, tensors


def _train(params, tensors, step, taken, job):
    tensors.take(taken)
    batch = Batch(taken, job)
    batch.weigh(job.sum_loss)
    _loop.seed(_loop.number_of(taken, job))
    given = step(dict(params), batch)
    if not isinstance(given, tuple) or len(given) != 2 or not isinstance(given[1], tuple) or len(given[1]) not in (2, 3):
        raise ValueError(f"step gives the losses and their gradients, (losses, cn.Gradients(tensors, tables)), and gave {_kind_of(given)}")
    losses, gradients = np.asarray(given[0]), Gradients(*given[1])
    if losses.shape != (batch.examples,) or losses.dtype.kind != "f":
        raise ValueError(f"step gives one loss an example, an array of [{batch.examples}], and gave {_said(losses)}; "
                         "they are weighted and summed afterwards")
    of_rows = ("gradient of the rows of table", "gradients of the rows of tables")
    rows = list(_of_names(of_rows, gradients.tables, batch.tables, "job.yaml has").values())
    results = tensors.results(gradients)
    # The reported loss is a weighted sum, and no mean.
    weighted = losses if batch.weights is None else losses * batch.weights
    return _loop.Computed(float(weighted.sum(dtype=np.float64)), rows or [None], results)


def _of_names(what, given, values, whose):
    """Returns for each of `values` what `given` has under its name, in its shape, or None. ValueError, UnknownName: it does not fit.
    `what`: the words for error messages, in the singular and the plural."""
    one, many = what
    if not isinstance(given, dict):
        raise ValueError(f"the {many} are a dictionary, by name, and are {type(given).__name__}")
    for name in given:
        if name not in values:
            near = difflib.get_close_matches(str(name), list(values), n=1)
            has = ", ".join(values) or "none"
            raise UnknownName(f"step gives a {one} {name!r}; {whose} {has}" + (f"; did you mean {near[0]}?" if near else ""))
    return {name: None if given.get(name) is None else _floats(f"the {one} {name}", given[name], value.shape) for name, value in values.items()}


def _floats(what, given, shape):
    found = np.asarray(given)
    if found.dtype.kind != "f" or found.shape != shape:
        raise ValueError(f"{what} is made of floats in its shape, {list(shape)}, and is {_said(found)}")
    return np.ascontiguousarray(found, np.float32)


def _logits(params, predict, taken, job):
    found = predict(dict(params), Batch(taken, job))
    found = {name: np.asarray(of) for name, of in found.items()} if isinstance(found, dict) else np.asarray(found)
    found = _loop.logits_of(found, job, taken.examples, np.ndarray, "an array")
    return np.ascontiguousarray(np.stack(found, 1) if job.labels else found[0], np.float32)


def _said(array):
    return f"{list(array.shape)} of {array.dtype}"


def _kind_of(given):
    if isinstance(given, tuple):
        return f"({', '.join(type(part).__name__ for part in given)})"
    return type(given).__name__


class _Tensors:
    """The arrays that build has returned, in the order of their names. Each step replaces them by views of the pulled parameters."""

    def __init__(self, built):
        if not isinstance(built, dict):
            raise _worker.Refused(f"build gives a dictionary of arrays, by their names, and gave {type(built).__name__}")
        for name in built:
            if not isinstance(name, str):
                raise _worker.Refused(f"the name of a tensor is a text, and build gave {name!r}")
        # The names are sorted by their bytes, as the chief sorts them. Views of each step's memory replace the arrays.
        declared = {name: _declared(built[name]) for name in sorted(built, key=str.encode)}
        self.params = {name: self._array(name, of.array) for name, of in declared.items()}
        self._roles = {name: of.role for name, of in declared.items()}
        self._unused = _loop.Unused(self._of_role("trained"), "what has none is not trained; declare it frozen: cn.frozen(array)")

    def _of_role(self, role):
        return {name: array for name, array in self.params.items() if self._roles[name] == role}

    def results(self, gradients):
        """Returns, in the order of all tensors, the gradient of each trained tensor and the new value of each running one."""
        trained = self._of_role("trained")
        whose = "build gave" if len(trained) == len(self.params) else "those that are trained are"
        found = _of_names(("gradient of tensor", "gradients of tensors"), gradients.tensors, trained, whose)
        self._unused.saw(name for name, gradient in found.items() if gradient is not None)
        found |= _of_names(("value of running tensor", "values of running tensors"), gradients.running, self._of_role("running"),
                           "those that are running are")
        return [found.get(name) for name in self.params]

    @staticmethod
    def _array(name, value):
        found = np.asarray(value)
        if found.dtype != np.float32:
            raise _worker.Refused(f"{name} is an array of {found.dtype}; expected float32: {name}.astype(numpy.float32)")
        if found.size == 0:
            raise _worker.Refused(f"{name} has no elements")
        return found

    def declaration(self):
        return [(name, self._roles[name], list(array.shape), np.ascontiguousarray(array)) for name, array in self.params.items()]

    def shapes(self):
        return {name: list(array.shape) for name, array in self.params.items()}

    def kept(self):
        """Keeps nothing, as the arrays are read-only views of what was pulled."""

    def put_back(self, kept):
        pass

    def take(self, taken):
        """Replaces the arrays by read-only views of what the step has pulled."""
        flat, begin = Batch.array(taken.parameters()), 0
        for name, array in self.params.items():
            self.params[name] = flat[begin:begin + array.size].reshape(array.shape)
            begin += array.size


def _facts(job):
    return {"numpy": np.__version__, "threads": str(job.step_threads), "python": sys.version.split()[0]}
