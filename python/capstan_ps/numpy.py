"""Models of NumPy on Capstan's shards, or of any library whose arrays NumPy can read. PyTorch is not needed.

    import capstan_ps.numpy as cn
    cn.train(build, step, predict)

`build(job)` gives the dense tensors as they begin, {name: array of float32}, of which `frozen(array)` never changes and `running(array)`
is not trained. `step(params, batch)` gives the losses, one an example, and
their Gradients; `predict(params, batch)` the logits of a batch that is held out, of several labels one array for each by its name.
docs/python.md tells the whole of it."""

import difflib
import importlib.util
import typing

import numpy as np

from capstan_ps import loop as _loop
from capstan_ps import worker as _worker
from capstan_ps.batch import Named, UnknownName  # noqa: F401  Programs know them by this name.
from capstan_ps.numpy_batch import Bags, Batch  # noqa: F401  Likewise.


class Gradients(typing.NamedTuple):
    """Of the sum of the losses, each times `batch.scale`. What is not named has none."""

    tensors: dict  # By the names that build gave: each has its tensor's shape.
    tables: dict = {}  # By the tables' names: [distinct keys, dim], as `batch.tables` has the rows.
    running: dict = {}  # What the running tensors have become. What is not named is as it was.


class _Declared(typing.NamedTuple):
    role: str
    array: typing.Any


def _declared(value):
    return value if isinstance(value, _Declared) else _Declared("trained", value)


def frozen(array):
    """In what `build` gives: a tensor that never changes. It is pulled once, and nothing of it is pushed."""
    return _Declared("frozen", array)


def running(array):
    """In what `build` gives: a tensor that is not trained, and that each step changes, such as a running mean. In a synchronous job it
    becomes the mean of what it has become in the lanes."""
    return _Declared("running", array)


def train(build, step, predict=None):
    """Works on the job of the environment until that is over, and ends the process: 0: the job is over, or this worker
    was asked to end; 2: the program and the job do not fit; 3: the program has failed. Under `capstan serve --program` it computes
    the scores that are asked for, by `predict`, and no job is there."""
    _loop.run(_loop.Front(
        begin=lambda job: _begin(build, job),
        train=lambda params, tensors, taken, job: _train(params, tensors, step, taken, job),
        logits=lambda params, taken, job: _logits(params, predict, taken, job),
        facts=_facts), step, predict)


def _begin(build, job):
    """The dictionary that each step is given, and the tensors that renew what is in it."""
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
    # The loss that is told is weighted, and no mean.
    weighted = losses if batch.weights is None else losses * batch.weights
    return _loop.Computed(float(weighted.sum(dtype=np.float64)), rows or [None], results)


def _of_names(what, given, values, whose):
    """What was given of each of `values`, in its shape, or None, by their names. `what`: in words, of one and of many."""
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
    """The arrays that build gave in the order of their names, and the memory of the shards' vector in their place."""

    def __init__(self, built):
        if not isinstance(built, dict):
            raise _worker.Refused(f"build gives a dictionary of arrays, by their names, and gave {type(built).__name__}")
        for name in built:
            if not isinstance(name, str):
                raise _worker.Refused(f"the name of a tensor is a text, and build gave {name!r}")
        # As the chief sorts them: by their bytes. Views of each step's memory take their place.
        declared = {name: _declared(built[name]) for name in sorted(built, key=str.encode)}
        self.params = {name: self._array(name, of.array) for name, of in declared.items()}
        self._roles = {name: of.role for name, of in declared.items()}
        self._unused = _loop.Unused(self._of_role("trained"), "what has none is not trained; declare it frozen: cn.frozen(array)")

    def _of_role(self, role):
        return {name: array for name, array in self.params.items() if self._roles[name] == role}

    def results(self, gradients):
        """A gradient for what is trained, and what is running has become, in the order of all."""
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
        """Nothing: arrays are views of what was pulled, and cannot be written."""

    def put_back(self, kept):
        pass

    def take(self, taken):
        """What the step has pulled: views, which cannot be written."""
        flat, begin = Batch.array(taken.parameters()), 0
        for name, array in self.params.items():
            self.params[name] = flat[begin:begin + array.size].reshape(array.shape)
            begin += array.size


def _facts(job):
    return _loop.facts(job) | {"numpy": np.__version__}
