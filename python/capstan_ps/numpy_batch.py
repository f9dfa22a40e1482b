"""What a step's records are, as NumPy sees them, and the gradients of what bags make of rows."""

import numpy as np

from capstan_ps import batch as _batch


class Bags:
    """The keys of one feature, or of whole records: those of record e are `index[offsets[e]:offsets[e + 1]]`, places in `rows`. Each
    function f() has an f_grad(g), which gives the gradient of `rows` where that of f() is g."""

    def __init__(self, offsets, index, rows, values=None, weights=None):
        self.offsets = offsets  # [examples + 1]
        self.index = index
        self.rows = rows  # Of the table, which features may share: the gradients of all of them are added.
        self.weights = weights  # By what each key's row counts in its record's bag: [keys of all records]; None: by 1.
        self._values = values  # By what each key's row is multiplied; None: by 1.

    def each(self):
        """The row of each key of each record, times its value: [keys of all records, dim]."""
        rows = self.rows[self.index]
        return rows if self._values is None else rows * self._values[:, None]

    def each_grad(self, gradient):
        of_keys = self._of_shape(gradient, len(self.index), self.rows.shape[1])
        if self._values is not None:
            of_keys = of_keys * self._values[:, None]
        found = np.zeros(self.rows.shape, np.float32)
        if len(of_keys):
            order = np.argsort(self.index, kind="stable")  # The same sums, in the same order, whoever computes them.
            places = self.index[order]
            begins = np.flatnonzero(np.diff(places, prepend=-1))
            found[places[begins]] = np.add.reduceat(of_keys[order], begins, axis=0)
        return found

    def counts(self):
        """The keys of each record: [examples]."""
        return np.diff(self.offsets).astype(np.int64)

    def first(self):
        """The place in `rows` of each record's first key, which is its only one but for `many: true`; -1: it has none. [examples]"""
        some = self.counts() > 0
        found = np.full(len(some), -1, self.index.dtype)
        found[some] = self.index[self.offsets[:-1][some]]
        return found

    def sums(self):
        """The sum of the rows of each record's keys, each times its weight: [examples, dim]."""
        rows = self.each()
        return self._added(rows if self.weights is None else rows * self.weights[:, None])

    def sums_grad(self, gradient):
        of_bags = self._of_shape(gradient, len(self.offsets) - 1, self.rows.shape[1])
        of_keys = np.repeat(of_bags, self.counts(), axis=0)
        return self.each_grad(of_keys if self.weights is None else of_keys * self.weights[:, None])

    def means(self):
        """Likewise, divided by the sum of the weights; zeros for a record without keys, or whose weights are all 0."""
        return self.sums() / self._totals()

    def means_grad(self, gradient):
        return self.sums_grad(np.asarray(gradient) / self._totals())

    def padded(self, most):
        """The first `most` keys of each record: [examples, most, dim], zeros behind a record's last key, and a mask [examples, most] that
        is true where there is one."""
        return self._padded(self.each(), most)

    def padded_grad(self, gradient):
        of_bags = np.asarray(gradient)
        most = of_bags.shape[1] if of_bags.ndim == 3 else 0
        of_bags = self._of_shape(of_bags, len(self.offsets) - 1, most, self.rows.shape[1])
        of_keys = np.zeros((len(self.index), self.rows.shape[1]), np.float32)
        of_keys[self._places() < most] = of_bags[self._mask(most)]
        return self.each_grad(of_keys)

    def padded_weights(self, most):
        """The weights of the first `most` keys of each record: [examples, most], zeros behind a record's last key."""
        weights = np.ones(len(self.index), np.float32) if self.weights is None else self.weights
        return self._padded(weights[:, None], most)[0][:, :, 0]

    def _totals(self):
        totals = self.counts()[:, None].astype(np.float32) if self.weights is None else self._added(self.weights[:, None])
        return np.where(totals > 0, totals, np.float32(1))

    def _added(self, of_keys):
        found = np.zeros((len(self.offsets) - 1, of_keys.shape[1]), np.float32)
        some = self.counts() > 0
        if some.any():
            found[some] = np.add.reduceat(of_keys, self.offsets[:-1][some], axis=0)
        return found

    def _places(self):
        """Of each key in its record."""
        return np.arange(len(self.index)) - np.repeat(self.offsets[:-1], self.counts())

    def _mask(self, most):
        return np.arange(most) < self.counts()[:, None]

    def _padded(self, of_keys, most):
        mask = self._mask(most)
        found = np.zeros((*mask.shape, of_keys.shape[1]), np.float32)
        found[mask] = of_keys[self._places() < most]
        return found, mask

    @staticmethod
    def _of_shape(gradient, *shape):
        found = np.asarray(gradient)
        if found.shape != shape:
            raise ValueError(f"a gradient has the shape of what it is of, {list(shape)}, and is {list(found.shape)}")
        return found


class Negatives(_batch.Negatives):

    def each(self):
        """The row of each: [per_batch, dim]."""
        return self.rows[self.index]

    def each_grad(self, gradient):
        """The gradient of `rows` where that of each() is so."""
        return Bags(None, self.index, self.rows).each_grad(gradient)


class Batch(_batch.Batch):
    """The records of a step in arrays, which are views of the worker's memory and cannot be written. `scale`, [examples], is what the
    loss of each record counts for in training; None: nothing is trained."""

    make_bags, make_negatives = Bags, Negatives

    @staticmethod
    def array(handed):
        found = np.asarray(handed).view()
        found.flags.writeable = False
        return found

    def __init__(self, step, job):
        super().__init__(step, job)
        # By the table's name. Gradients of rows are told by it.
        self.tables = _batch.Named("table", zip(job.tables, self.tables))
        self.scale = None

    def weigh(self, sum_loss):
        """What is to be descended is the sum of the losses, each times its scale."""
        weights = np.ones(self.examples, np.float32) if self.weights is None else self.weights
        self.scale = weights if sum_loss else weights / np.float32(self.examples)

    @property
    def images(self):
        """[examples, channels, height, width], where records are images: a view of `numbers`, which have the channels of a pixel side by
        side."""
        return self.numbers.reshape(self.examples, *self._image).transpose(0, 3, 1, 2)
