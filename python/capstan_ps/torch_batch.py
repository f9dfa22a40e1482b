"""The batch of a step in PyTorch tensors."""

import torch

from capstan_ps import batch as _batch
from capstan_ps import torch_rows as _rows


class Bags:
    """The keys of one feature, or of whole records. Those of record e are `index[offsets[e]:offsets[e + 1]]`, which are places in
    `rows`."""

    def __init__(self, offsets, index, rows, values=None, weights=None):
        self.offsets = offsets  # [examples + 1]
        self.index = index
        self.rows = rows  # The rows of the table, which features may share.
        self.weights = weights  # The weight of each key's row in its bag: [keys of all records]; None: all are 1.
        self._values = values  # The factor of each key's row; None: all are 1.

    def each(self):
        """Returns the row of each key of each record, times its value: [keys of all records, dim]."""
        if not self.index.numel():
            return self.rows.new_zeros(0, self.rows.shape[1])
        rows = _rows.take(self.rows, self.index)
        return rows if self._values is None else rows * self._values.unsqueeze(1)

    def counts(self):
        """Returns the number of keys of each record: [examples]."""
        return (self.offsets[1:] - self.offsets[:-1]).long()

    def first(self):
        """Returns the place in `rows` of each record's first key, [examples]; -1 if the record has none. Without `many: true` it is the
        only key."""
        some = self.counts() > 0
        found = self.index.new_full((len(some),), -1)
        found[some] = self.index[self.offsets[:-1][some].long()]
        return found

    def sums(self):
        """Returns the sum of the rows of each record's keys, each times its weight: [examples, dim]."""
        rows = self.each()
        return self._added(rows if self.weights is None else rows * self.weights.unsqueeze(1))

    def means(self):
        """Returns the sums() divided by the sum of the weights; zeros for a record without keys, or whose weights are all 0."""
        if self.weights is None:
            return self.sums() / self.counts().clamp(min=1).unsqueeze(1)
        total = self._added(self.weights.unsqueeze(1))
        return self.sums() / torch.where(total > 0, total, torch.ones_like(total))

    def _added(self, of_keys):
        counts = self.counts()
        example = torch.repeat_interleave(torch.arange(len(counts)), counts)
        return _rows.add(of_keys, example, len(counts))

    def padded(self, most):
        """Returns the rows of the first `most` keys of each record, [examples, most, dim], with zeros after a record's last key; and a mask
        [examples, most] that is true where there is a key."""
        return self._padded(self.each(), most)

    def padded_weights(self, most):
        """Returns the weights of the first `most` keys of each record, [examples, most], with zeros after a record's last key."""
        weights = self.weights if self.weights is not None else self.rows.new_ones(self.index.numel())
        return self._padded(weights.unsqueeze(1), most)[0].squeeze(2)

    def _padded(self, of_keys, most):
        counts = self.counts()
        place = torch.arange(len(of_keys)) - torch.repeat_interleave(self.offsets[:-1].long(), counts)  # Each key's place in its record.
        mask = torch.arange(most).unsqueeze(0) < counts.unsqueeze(1)
        return of_keys.new_zeros(len(counts), most, of_keys.shape[1]).masked_scatter(mask.unsqueeze(2), of_keys[place < most]), mask


class Negatives(_batch.Negatives):

    def each(self):
        """Returns the row of each drawn key: [per_batch, dim]."""
        return _rows.take(self.rows, self.index)


class Batch(_batch.Batch):
    """The records of a step in tensors, which are views of the worker's memory."""

    make_bags, make_negatives = Bags, Negatives

    @staticmethod
    def array(handed):
        # PyTorch takes a capsule as it is. It asks any other object for its device first, which takes longer than everything else.
        return torch.utils.dlpack.from_dlpack(handed.__dlpack__())

    def _index(self, step, table):
        """Returns the index in 64 bits, as PyTorch 1.13 accepts no 32-bit places in `rows[index]`."""
        return super()._index(step, table).long()

    @property
    def images(self):
        """The images, if the records are images: [examples, channels, height, width]. A view of `numbers`, in which the channels of a pixel
        are adjacent."""
        return self.numbers.view(self.examples, *self._image).permute(0, 3, 1, 2)
