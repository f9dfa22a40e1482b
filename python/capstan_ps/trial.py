"""`python model.py --try job.yaml`: some batches of the job's data in this process, where there is no chief and no shard. Parameters are as
they begin, and nothing is learned."""

import os
import shlex
import shutil
import sys

from capstan_ps import _capstan
from capstan_ps import loop as _loop
from capstan_ps import worker as _worker

FLAG = "--try"
BATCHES = 3
SHOWN = 6  # Names in a line.


def job_file():
    """What the command line names to be tried; None: nothing."""
    arguments = sys.argv[1:]
    for place, argument in enumerate(arguments):
        if argument.startswith(FLAG + "="):
            return argument[len(FLAG) + 1:]
        if argument == FLAG:
            if place + 1 == len(arguments):
                _worker.refuse(_Nobody, f"{FLAG} names a job file: {FLAG} job.yaml")
            return arguments[place + 1]
    return None


def _own_arguments():
    """What the command line says beside that."""
    arguments, own = iter(sys.argv[1:]), []
    for argument in arguments:
        if argument == FLAG:
            next(arguments)  # The job file.
        elif not argument.startswith(FLAG + "="):
            own.append(argument)
    return own


def python_command():
    """The command that runs this Python: `python` where that is this one, or else what it was called by."""
    return next(filter(_is_this_python, ("python", getattr(sys, "orig_argv", [""])[0])), sys.executable)


def _is_this_python(command):
    """Also the folder has to be the same: that of a virtual environment links to the Python that it was made by."""
    found = shutil.which(command)
    return bool(found) and (os.path.dirname(os.path.abspath(found)) == os.path.dirname(sys.executable)
                            and os.path.samefile(found, sys.executable))


def run(path, front, step, predict):
    """Ends the process: 0, or what the program would end with in the job."""
    try:
        trial = _capstan.Trial(path)
    except ValueError as error:
        _worker.refuse(_Nobody, error)
    job = trial.job
    work = _loop.Work(_Nobody, front, job, step, predict)
    declaration = work.tensors.declaration()
    try:
        trial.declare(declaration, _loop.outputs(job) if predict else [])
    except ValueError as error:
        _worker.refuse(_Nobody, error)
    last, unused = _train(trial, work, declaration)
    if unused:
        print(f"no gradient  {_some(unused)}: declare frozen what is not trained")
    if predict:
        _predict(trial, work, last)
    print(f"fits  capstan train {path} --worker {shlex.quote(shlex.join([python_command(), sys.argv[0], *_own_arguments()]))}", flush=True)
    raise SystemExit(0)


class _Nobody:
    """In the place of a worker: nobody else is to be told, and what is held goes to nobody."""

    @staticmethod
    def fail(*_):
        pass

    stop = end = fail


def _take(trial, held_out):
    try:
        return trial.take(held_out=held_out)
    except ValueError as error:
        _worker.refuse(_Nobody, error)


def _train(trial, work, declaration):
    """The last step, and the names of the tensors that had a gradient in none."""
    last, unused = None, {name for name, role, *_ in declaration if role == "trained"}
    for number in range(BATCHES):
        taken = _take(trial, held_out=False)
        if taken is None:
            break
        if last is None:
            _tell_batch(taken, work.job)
            _tell_tensors(declaration)
        last = taken
        computed = work.do(taken)
        unused -= {name for (name, *_), gradient in zip(declaration, computed.tensors) if gradient is not None}
        odd = "; it is not finite, and would be dropped" if taken.nonfinite else ""
        print(f"batch {number}  loss {computed.loss_sum / taken.examples:.6g}, a gradient of length {taken.gradient_norm:.4g}{odd}", flush=True)
    if last is None:
        _worker.refuse(_Nobody, "the training data have no records")
    return last, sorted(unused)


def _predict(trial, work, last):
    """Of held-out records, or else of those that were trained last."""
    taken = _take(trial, held_out=True) if work.job.evaluates else None
    logits = work.predict(taken or last)
    print(f"predict  logits of {list(logits.shape)}, of {'held-out' if taken else 'training'} records", flush=True)


# ---- what was found ----

def _tell_batch(taken, job):
    print("read  " + "; ".join(_parts(taken, job)))


def _parts(taken, job):
    names = f" {_some([label.name for label in job.labels])}," if job.labels else ""
    yield f"labels{names} {[taken.examples]}"
    if (weights := taken.weights()) is not None:
        yield f"weights {_shape(weights)}"
    if job.image:
        yield f"images {[taken.examples, job.channels, *job.image]}"
    elif job.numbers:
        yield f"numbers {_shape(taken.numbers())}"
    for place, feature in enumerate(job.features):
        keys = memoryview(taken.feature_offsets(place))[-1]
        yield f"feature {feature.name}, {keys} keys, rows of table {job.tables[feature.table]} {_shape(taken.rows(feature.table))}"
    if job.dims and not job.features:
        yield f"{memoryview(taken.offsets())[-1]} keys, distinct rows {_shape(taken.rows(0))}"
    if (drawn := taken.negatives()) is not None:
        yield f"{_shape(drawn[2])[0]} negatives of feature {job.features[drawn[0]].name}"


def _tell_tensors(declaration):
    for role in ("trained", "running", "frozen"):
        own = [(name, shape) for name, of, shape, _ in declaration if of == role]
        if own:
            print(f"{role}  {len(own)} tensors: {_some([f'{name} {shape}' for name, shape in own])}")


def _shape(handed):
    return list(memoryview(handed).shape)


def _some(names):
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more
