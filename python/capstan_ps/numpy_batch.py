"""The batch of a step in NumPy arrays, and the gradients of the functions of its bags."""

import numpy as np

from capstan_ps import batch as _batch


class Bags:
    """The keys of one feature, or of whole records. Those of record e are `index[offsets[e]:offsets[e + 1]]`, which are places in `rows`.
    For a function f() the function f_grad(g) returns the gradient of `rows` if the gradient of f() is g."""

    def __init__(self, offsets, index, rows, values=None, weights=None):
        self.offsets = offsets  # [examples + 1]
        self.index = index
        self.rows = rows  # The rows of the table. Several features may share it: their gradients are added.
        self.weights = weights  # The weight of each key's row in its bag: [keys of all records]; None: all are 1.
        self._values = values  # The factor of each key's row; None: all are 1.

    def each(self):
        """Returns the row of each key of each record, times its value: [keys of all records, dim]."""
        rows = self.rows[self.index]
        return rows if self._values is None else rows * self._values[:, None]

    def each_grad(self, gradient):
        of_keys = self._of_shape(gradient, len(self.index), self.rows.shape[1])
        if self._values is not None:
            of_keys = of_keys * self._values[:, None]
        found = np.zeros(self.rows.shape, np.float32)
        if len(of_keys):
            order = np.argsort(self.index, kind="stable")  # So every worker adds in the same order, and gets the same sums.
            places = self.index[order]
            begins = np.flatnonzero(np.diff(places, prepend=-1))
            found[places[begins]] = np.add.reduceat(of_keys[order], begins, axis=0)
        return found

    def counts(self):
        """Returns the number of keys of each record: [examples]."""
        return np.diff(self.offsets).astype(np.int64)

    def first(self):
        """Returns the place in `rows` of each record's first key, [examples]; -1 if the record has none. Without `many: true` it is the
        only key."""
        some = self.counts() > 0
        found = np.full(len(some), -1, self.index.dtype)
        found[some] = self.index[self.offsets[:-1][some]]
        return found

    def sums(self):
        """Returns the sum of the rows of each record's keys, each times its weight: [examples, dim]."""
        rows = self.each()
        return self._added(rows if self.weights is None else rows * self.weights[:, None])

    def sums_grad(self, gradient):
        of_bags = self._of_shape(gradient, len(self.offsets) - 1, self.rows.shape[1])
        of_keys = np.repeat(of_bags, self.counts(), axis=0)
        return self.each_grad(of_keys if self.weights is None else of_keys * self.weights[:, None])

    def means(self):
        """Returns the sums() divided by the sum of the weights; zeros for a record without keys, or whose weights are all 0."""
        return self.sums() / self._totals()

    def means_grad(self, gradient):
        return self.sums_grad(np.asarray(gradient) / self._totals())

    def padded(self, most):
        """Returns the rows of the first `most` keys of each record, [examples, most, dim], with zeros after a record's last key; and a mask
        [examples, most] that is true where there is a key."""
        return self._padded(self.each(), most)

    def padded_grad(self, gradient):
        of_bags = np.asarray(gradient)
        most = of_bags.shape[1] if of_bags.ndim == 3 else 0
        of_bags = self._of_shape(of_bags, len(self.offsets) - 1, most, self.rows.shape[1])
        of_keys = np.zeros((len(self.index), self.rows.shape[1]), np.float32)
        of_keys[self._places() < most] = of_bags[self._mask(most)]
        return self.each_grad(of_keys)

    def padded_weights(self, most):
        """Returns the weights of the first `most` keys of each record, [examples, most], with zeros after a record's last key."""
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
        """Returns the place of each key in its record."""
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
        """Returns the row of each drawn key: [per_batch, dim]."""
        return self.rows[self.index]

    def each_grad(self, gradient):
        """Returns the gradient of `rows` if the gradient of each() is `gradient`."""
        return Bags(None, self.index, self.rows).each_grad(gradient)


class Batch(_batch.Batch):
    """The records of a step in read-only arrays, which are views of the worker's memory. `scale`, [examples], is the factor of each
    record's loss in training; None if nothing is trained."""

    make_bags, make_negatives = Bags, Negatives

    @staticmethod
    def array(handed):
        found = np.asarray(handed).view()
        found.flags.writeable = False
        return found

    def __init__(self, step, job):
        super().__init__(step, job)
        # By the table's name, as the gradients of rows are returned.
        self.tables = _batch.Named("table", zip(job.tables, self.tables))
        self.scale = None

    def weigh(self, sum_loss):
        """Sets `scale`. Training minimizes the sum of the losses, each times its scale."""
        weights = np.ones(self.examples, np.float32) if self.weights is None else self.weights
        self.scale = weights if sum_loss else weights / np.float32(self.examples)

    @property
    def images(self):
        """The images, if the records are images: [examples, channels, height, width]. A view of `numbers`, in which the channels of a pixel
        are adjacent."""
        return self.numbers.reshape(self.examples, *self._image).transpose(0, 3, 1, 2)
