"""Trains PyTorch models on Capstan's shards.

    import capstan_ps.torch as ct
    ct.train(Model, step, predict)

- `Model(job)` builds the module.
- `step(model, batch)` returns the losses, one for each example.
- `predict(model, batch)` returns the logits of a held-out batch: a tensor or, for a job with several labels, {label: tensor}.

The parameters are on the shards. Each step computes with those that the worker has pulled for it, and the worker pushes the gradients of
the step. job.yaml says which optimizers the shards apply. See docs/python.md."""

import operator
import re
import sys

import torch
from torch import nn

from capstan_ps import blas as _blas
from capstan_ps import loop as _loop
from capstan_ps import torch_checks as _torch_checks
from capstan_ps import worker as _worker
from capstan_ps.batch import Named  # noqa: F401  Programs import them from here.
from capstan_ps.torch_batch import Bags, Batch  # noqa: F401  The same.
from capstan_ps.torch_draws import seed as _seed
from capstan_ps.torch_tensors import is_held, memory, readable

_TRAINING, _VERSION = map(operator.attrgetter, ("training", "_version"))


class Embeddings(nn.Module):
    """Returns the embeddings of each record's keys: [examples, job.fields, job.dim]. The module has no parameters of its own: the rows are
    on the shards, which create a row when its key is first trained."""

    def __init__(self, job):
        super().__init__()
        if job.fields == 0:
            raise ValueError("records have no fixed number of keys; use capstan_ps.torch.EmbeddingBag")
        self.fields, self.dim = job.fields, job.dim
        self.width = job.fields * job.dim

    def forward(self, batch):
        return batch.bags.each().view(batch.examples, self.fields, self.dim)


class EmbeddingBag(nn.Module):
    """Returns the sum of the embeddings of each record's keys, each times its value: [examples, job.dim]. A record may have any number of
    keys."""

    def __init__(self, job):
        super().__init__()
        self.width = job.dim

    def forward(self, batch):
        return batch.bags.sums()


class Pooled:
    """The result of an EmbeddingBagCollection: `self["user"]` is [examples, dim]."""

    def __init__(self, pooled):
        self._pooled = Named("pooled feature", pooled)

    def __getitem__(self, name):
        return self._pooled[name]

    def values(self):
        """Returns all features side by side, in the order of job.yaml: [examples, width]."""
        return torch.cat(list(self._pooled.values()), 1)


class EmbeddingBagCollection(nn.Module):
    """Returns the pooled embeddings of data.features, by their names. For features with `pooling: none` use `Sequences`. The module has no
    parameters of its own: the rows are on the shards, which create a row when its key is first trained."""

    def __init__(self, job):
        super().__init__()
        pooled = [feature for feature in job.features if feature.pooling != "none"]
        if not pooled:
            raise ValueError("job.yaml has no data.features that are pooled")
        self._pooling = {feature.name: feature.pooling for feature in pooled}
        self.width = sum(job.dims[feature.table] for feature in pooled)

    def forward(self, batch):
        bags = batch.features
        return Pooled({name: bags[name].means() if pooling == "mean" else bags[name].sums()
                       for name, pooling in self._pooling.items()})


class Sequences(nn.Module):
    """Returns the embeddings of a feature with `pooling: none`, [examples, most, dim], with zeros after a record's last key; and a mask
    [examples, most] that is true where there is a key."""

    def __init__(self, job, name):
        super().__init__()
        found = [feature for feature in job.features if feature.name == name]
        if not found or found[0].pooling != "none":
            names = [feature.name for feature in job.features if feature.pooling == "none"]
            raise ValueError(f"data.features has no {name!r} with pooling: none; there are {', '.join(names) or 'none'}")
        self.name, self.most = name, found[0].most

    def forward(self, batch):
        return batch.features[self.name].padded(self.most)


def train(build, step, predict=None):
    """Works on the job that the environment names until the job is over, and then ends the process. The exit code is 0 if the job is over
    or this worker was asked to end, 1 if the job was started over with other settings, 2 if the program and the job do not fit, and 3 if
    the program has failed. Under `capstan serve --program` there is no job: the process computes the requested scores by `predict`."""
    _loop.run(_front(build, step, predict), step, predict)


def _front(build, step, predict):
    finished = _Finished()
    return _loop.Front(
        begin=lambda job: _begin(build, job),
        train=lambda model, tensors, taken, job: _train(model, tensors, step, taken, job, finished.settle),
        logits=lambda model, taken, job: _logits(model, predict, taken, job, finished.settle),
        facts=_facts,
        finish=finished.begin)


class _Finished:
    """The step that was finished last. The worker reads its gradients while the program takes the next step. settle() waits for that: it is
    called before the program's own code runs again, which might write to the memory of the gradients."""

    def __init__(self):
        self._taken = None

    def begin(self, taken, computed):
        taken.finish_at(computed.loss_sum, memory(computed.rows), memory(computed.tensors), computed)
        self._taken = taken

    def settle(self):
        if self._taken is not None:
            self._taken.settle()
            self._taken = None


def _begin(build, job):
    """Returns the module with its initial values, and its tensors."""
    if not torch.backends.mkl.is_available() and _blas.library()[1]:
        print("capstan_ps: PyTorch multiplies matrices with the reference BLAS, which is some twenty times slower than OpenBLAS; on Debian: "
              "apt-get install libopenblas0-openmp", file=sys.stderr, flush=True)
    torch.set_num_threads(job.step_threads)
    if job.synchronous:
        torch.use_deterministic_algorithms(True)
    _seed(job.seed)
    model = build(job)
    if not isinstance(model, nn.Module):
        raise _worker.Refused(f"build gives a torch.nn.Module, and gave {type(model).__name__}")
    return model, _Tensors(model)


def _train(model, tensors, step, taken, job, settle=lambda: None):
    tensors.take(taken)
    batch = Batch(taken, job)
    for rows in batch.tables:
        rows.requires_grad_(rows.numel() > 0)
    _seed(_loop.number_of(taken, job))
    settle()  # From here on the program may write to the memory of the last gradients.
    tensors.set_training()
    losses = step(model, batch)
    if not isinstance(losses, torch.Tensor) or tuple(losses.shape) != (batch.examples,):
        hint = "; use reduction=\"none\": the mean of them is taken afterwards" if isinstance(losses, torch.Tensor) and not losses.dim() else ""
        raise ValueError(f"step gives one loss an example, a tensor of [{batch.examples}], and gave {_loop.shape_of(losses, torch.Tensor)}{hint}")
    if not losses.requires_grad and not _lacks_parameters(model, batch, job):
        raise ValueError("the losses that step gave depend on no parameter: they were detached, computed under no_grad, or by another library; "
                         "where nothing is to be learnt of a batch, give the losses that the model computed times 0 (losses * 0)")
    _refuse_gradients(tensors, batch)
    if batch.weights is not None:
        losses = losses * batch.weights
    if losses.requires_grad:  # The gradient of their sum or their mean, without computing a tensor for that.
        losses.backward(torch.full_like(losses, 1 if job.sum_loss else 1 / len(losses)))
    names = (f"the gradient of the rows of table {place}" for place in range(len(batch.tables)))
    gradients = readable([rows.grad for rows in batch.tables], names)
    return _loop.Computed(losses.detach().sum(dtype=torch.float64).item(), gradients, tensors.results())


def _refuse_gradients(tensors, batch):
    """Refuses gradients that exist before backward(): the gradients of the losses would be added to them, so they would count twice."""
    name = tensors.with_gradient() or next((f"rows of table {place}" for place, rows in enumerate(batch.tables) if rows.grad is not None), None)
    if name is not None:
        raise ValueError(f"step has computed a gradient itself, of {name}, to which that of its losses would be added: leave backward() out, which is called "
                         "with the losses that step gives; torch.autograd.grad gives gradients for a step's own use")


def _lacks_parameters(model, batch, job):
    """Returns whether only rows are trained, and the batch has no rows of some table because its records have no keys there."""
    return not any(parameter.requires_grad for parameter in model.parameters()) and any(
        dim and not len(rows) for dim, rows in zip(job.dims, batch.tables))


def _logits(model, predict, taken, job, settle=lambda: None):
    settle()
    model.eval()
    with torch.no_grad():
        found = _loop.logits_of(predict(model, Batch(taken, job)), job, taken.examples, torch.Tensor, "a tensor")
        logits = torch.stack(found, 1) if job.labels else found[0]
    return readable([logits.detach().float()], ["what predict gave"])[0]


class _Tensors:
    """The module's parameters and buffers, in the order of their names. Each step fills them with the parameters that were pulled."""

    def __init__(self, model):
        for where, module in model.named_modules():
            if getattr(module, "track_running_stats", False) and getattr(module, "momentum", 0) is None:
                raise _worker.Refused(f"{where}: momentum=None counts batches, which no worker sees all of; give it a momentum")
        found = {name: (tensor, "trained" if tensor.requires_grad else "frozen")
                 for name, tensor in model.named_parameters()}
        parameters = {name: tensor for name, (tensor, _) in found.items()}
        self._model, self._counters = model, {}
        for name, tensor in model.named_buffers():
            if is_held(tensor):
                found[name] = (tensor, "running")
            elif name.rpartition(".")[2] != "num_batches_tracked":
                self._counters[name] = tensor.clone()
        for name, (tensor, _) in found.items():
            if tensor.dtype != torch.float32 or tensor.device.type != "cpu":
                raise _worker.Refused(f"{name} is {tensor.dtype} on {tensor.device}; expected torch.float32 on the CPU")
            if tensor.numel() == 0:
                raise _worker.Refused(f"{name} has no elements")
        _torch_checks.refuse_shared({name: tensor for name, (tensor, _) in found.items()}, parameters)
        self._aftermath = _torch_checks.Aftermath(model, parameters)
        evaluated = [module for module in model.modules() if not module.training]
        # The modes of the modules that build has put into evaluation, and of the modules below them, parents first.
        self._modes = [(module, module.training) for parent in evaluated for module in parent.modules()]
        self._evaluated = set(evaluated)
        # The names are sorted by their bytes, as the chief sorts them.
        self._all = [(name, *found[name]) for name in sorted(found, key=str.encode)]
        self._find([name for name, *_ in self._all])
        self._sizes = [tensor.numel() for _, tensor, _ in self._all]
        # Like _find(), this keeps what never changes, so that no step has to find it out again.
        self._shapes = [tensor.shape for _, tensor, _ in self._all]
        self._trained, self._frozen = ([(name, tensor) for name, tensor, of in self._all if of == role] for role in ("trained", "frozen"))
        self._results = [f"the value of buffer {name}" if role == "running" else f"the gradient of parameter {name}" for name, _, role in self._all]
        self._untouched = self._versions()
        # Trained tensors that the program has not been reported to write to. take() does not change the counters of writes.
        self._unwritten = dict(self._trained)
        self._writes = self._count_writes()
        self._unused = _loop.Unused([name for name, _ in self._trained],
                                    "is it used? declare what is not trained frozen, with requires_grad=False")

    def _find(self, names):
        """Records where the tensors of these names are, because looking each one up by its full name costs microseconds in every step."""
        self._every = list(self._model.modules())
        # The places where a program may put another module. Below a TorchScript module it cannot: its holders are no dictionaries.
        found = [(parent._modules, leaf, child) for parent in self._every if isinstance(parent._modules, dict)
                 for leaf, child in parent._modules.items()]
        self._parents, self._leaves, self._children = zip(*found) if found else ((), (), ())
        # A module of the program may override train() and do anything in it.
        self._plain = all(type(module).train is nn.Module.train for module in self._every)
        self._as_built = [module not in self._evaluated for module in self._every]
        self._holders = {}
        for name in names:
            where, _, leaf = name.rpartition(".")
            module = self._model.get_submodule(where)
            self._holders[name] = (module._parameters if leaf in module._parameters else module._buffers), leaf

    def _present(self):
        """Returns the parameters and buffers that have the names now, in their order."""
        return [holder[leaf] if leaf in holder else None for holder, leaf in self._holders.values()]  # TorchScript's holders have no get().

    def declaration(self):
        values = readable([tensor.detach() for _, tensor, _ in self._all], [name for name, *_ in self._all])
        return [(name, role, list(tensor.shape), value) for (name, tensor, role), value in zip(self._all, values)]

    def shapes(self):
        return {name: list(tensor.shape) for name, tensor, _ in self._all}

    def set_training(self):
        """Does the same as the module's train(), except that modules which build has put into evaluation stay there. Calls train() only if
        that may change something, as it takes microseconds for each module."""
        if not self._plain or [*map(_TRAINING, self._every)] != self._as_built:
            self._model.train()
            for module, trained in self._modes:
                if module.training != trained:
                    module.train(trained)

    def take(self, taken):
        """Gives the module what the step has pulled: parameters become views of it, and buffers copies."""
        # "unsafe": writes to the pieces are not counted. This is right here, as each is given to a parameter, or only copied.
        pieces = Batch.array(taken.parameters()).unsafe_split_with_sizes(self._sizes)
        with torch.no_grad():
            for (_, tensor, role), now, piece, shape in zip(self._all, self._present(), pieces, self._shapes):
                if len(shape) != 1:
                    piece = piece.view(shape)
                if role == "running":
                    now.copy_(piece)
                else:
                    tensor.data, tensor.grad = piece, None
        self._untouched = self._versions()

    def _versions(self):
        """Returns how often each frozen tensor has been written to."""
        return {name: tensor._version for name, tensor in self._frozen}

    def kept(self):
        """Returns copies of the buffers that no shard holds."""
        return {name: tensor.clone() for name, tensor in self._model.named_buffers() if not tensor.is_floating_point()}

    def put_back(self, kept):
        for name, before in kept.items():
            self._model.get_buffer(name).copy_(before)

    def with_gradient(self):
        """Returns the name of a trained parameter that has a gradient; None if there is none."""
        return next((name for name, tensor in self._trained if tensor.grad is not None), None)

    def results(self):
        """Returns, in the order of all tensors, the gradient of each trained parameter and the new value of each buffer."""
        if self._aftermath is not None:
            self._aftermath.check(self._model)
            self._aftermath = None
        if any(map(operator.is_not, map(dict.get, self._parents, self._leaves), self._children)):  # The program has put other modules there.
            self._find(self._holders)
        for name, before in self._counters.items():
            if not torch.equal(self._model.get_buffer(name), before):
                raise TypeError(f"buffer {name} of {before.dtype} has changed; only buffers of finite floats reach other workers")
        self._unused.saw(name for name, tensor in self._trained if tensor.grad is not None)
        if (writes := self._count_writes()) != self._writes:
            self._tell_written([name for name, now, before in zip(self._unwritten, writes, self._writes) if now != before])
        found = [tensor.grad if now is tensor and role == "trained" else self._result(name, tensor, role, now, shape)
                 for (name, tensor, role), now, shape in zip(self._all, self._present(), self._shapes)]
        return readable(found, self._results)

    def _count_writes(self):
        return [*map(_VERSION, self._unwritten.values())]

    def _tell_written(self, names):
        """Reports tensors that the program has written to in place. This is not an error: an embedding with max_norm bounds the rows that
        it looks up each time, before it uses them."""
        for name in names:
            del self._unwritten[name]
        self._writes = self._count_writes()
        print(f"capstan_ps: {_loop.some(names)}: written to in place, which reaches no shard and is gone at the next step; only gradients change "
              "what is trained: bound the values where they are used, as torch.nn.utils.parametrize does", file=sys.stderr, flush=True)

    def _result(self, name, tensor, role, now, shape):
        """Returns the result of a tensor that has no gradient by its own name: a buffer's new value, or None. `now`: the tensor that has
        the name now; `shape`: the shape when the module was built. TypeError: the tensor was replaced or changed in a way that no job can
        follow."""
        if role == "running":  # A statement such as `self.mean = 0.9 * self.mean + ...` puts another tensor there.
            result = now.detach() if now.requires_grad else now
            if result.shape != shape or result.dtype != torch.float32:
                raise TypeError(f"buffer {name} has become {list(result.shape)} of {result.dtype}, and was {list(shape)} of torch.float32")
            return result
        if now is not tensor:
            raise TypeError(f"parameter {name} is another tensor than when the job began; what is assigned to it reaches no shard")
        self._refuse_trained(name, tensor)
        return None

    def _refuse_trained(self, name, tensor):
        """Refuses a frozen tensor that has changed or has a gradient."""
        if tensor._version != self._untouched[name]:
            raise TypeError(f"parameter {name} has changed, and was frozen (requires_grad=False): nobody pulls it again; what steps change "
                            "are float buffers (register_buffer)")
        if tensor.grad is not None:
            raise TypeError(f"parameter {name} has a gradient, and was frozen (requires_grad=False) when the job began: it stays as it is; "
                            "declare it trained in build, with requires_grad=True")


def _facts(job):
    capability = re.search(r"CPU capability usage: (\S+)", torch.__config__.show())
    return {"torch": torch.__version__, "threads": str(torch.get_num_threads()), "python": sys.version.split()[0],
            "blas": "mkl" if torch.backends.mkl.is_available() else _blas.library()[0],
            "instructions": capability.group(1) if capability else "unknown"}
