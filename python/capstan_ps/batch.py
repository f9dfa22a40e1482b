"""What a step's records are, as PyTorch sees them: keys, numbers and labels, and the rows that the step has pulled."""

import difflib

import torch
from torch import nn


class UnknownName(KeyError):
    """What job.yaml has no name of."""

    def __str__(self):
        return self.args[0]


class Named(dict):
    """What a batch has of each feature or label, by its name."""

    def __init__(self, what, found):
        super().__init__(found)
        self._what = what

    def __missing__(self, name):
        if not self:
            raise UnknownName(f"there are no {self._what}s here, and no {name!r}")
        near = difflib.get_close_matches(str(name), [str(known) for known in self], n=1)
        raise UnknownName(f"job.yaml has no {self._what} {name!r}; it has {', '.join(self)}" + (f"; did you mean {near[0]}?" if near else ""))


class Bags:
    """The keys of one feature, or of whole records: those of record e are `index[offsets[e]:offsets[e + 1]]`, places in `rows`."""

    def __init__(self, offsets, index, rows, values=None, weights=None):
        self.offsets = offsets  # [examples + 1]
        self.index = index
        self.rows = rows  # Of the table, which features may share.
        self.weights = weights  # By what each key's row counts in its record's bag: [keys of all records]; None: by 1.
        self._values = values  # By what each key's row is multiplied; None: by 1.

    def each(self):
        """The row of each key of each record, times its value: [keys of all records, dim]."""
        if not self.index.numel():
            return self.rows.new_zeros(0, self.rows.shape[1])
        rows = nn.functional.embedding(self.index, self.rows)
        return rows if self._values is None else rows * self._values.unsqueeze(1)

    def counts(self):
        """The keys of each record: [examples]."""
        return (self.offsets[1:] - self.offsets[:-1]).long()

    def sums(self):
        """The sum of the rows of each record's keys, each times its weight: [examples, dim]."""
        rows = self.each()
        return self._added(rows if self.weights is None else rows * self.weights.unsqueeze(1))

    def means(self):
        """Likewise, divided by the sum of the weights; zeros for a record without keys, or whose weights are all 0."""
        if self.weights is None:
            return self.sums() / self.counts().clamp(min=1).unsqueeze(1)
        total = self._added(self.weights.unsqueeze(1))
        return self.sums() / torch.where(total > 0, total, torch.ones_like(total))

    def _added(self, of_keys):
        counts = self.counts()
        example = torch.repeat_interleave(torch.arange(len(counts)), counts)
        return of_keys.new_zeros(len(counts), of_keys.shape[1]).index_add(0, example, of_keys)

    def padded(self, most):
        """The first `most` keys of each record: [examples, most, dim], zeros behind a record's last key, and a mask [examples, most] that
        is true where there is one."""
        return self._padded(self.each(), most)

    def padded_weights(self, most):
        """The weights of the first `most` keys of each record: [examples, most], zeros behind a record's last key."""
        weights = self.weights if self.weights is not None else self.rows.new_ones(self.index.numel())
        return self._padded(weights.unsqueeze(1), most)[0].squeeze(2)

    def _padded(self, of_keys, most):
        counts = self.counts()
        place = torch.arange(len(of_keys)) - torch.repeat_interleave(self.offsets[:-1].long(), counts)  # Of a key in its record.
        mask = torch.arange(most).unsqueeze(0) < counts.unsqueeze(1)
        return of_keys.new_zeros(len(counts), most, of_keys.shape[1]).masked_scatter(mask.unsqueeze(2), of_keys[place < most]), mask


class Negatives:
    """Keys that were drawn for a batch as what its records might have had instead: places in `rows`, as those of the feature's bags are."""

    def __init__(self, index, rows, log_share, log_share_of_records):
        self.index = index          # [data.negatives.per_batch]
        self.rows = rows            # Of the feature's table.
        self.log_share = log_share  # Of each of them: the logarithm of its share in all that is drawn.
        # [examples]: the same of each record's own key; -inf: the file of candidates lacks it. None where a record may have many.
        self.log_share_of_records = log_share_of_records

    def each(self):
        """The row of each: [per_batch, dim]."""
        return nn.functional.embedding(self.index, self.rows)


class Batch:
    """The records of a step. A record's keys are `index[offsets[e]:offsets[e + 1]]`, places in `rows` and `keys`; with
    data.features, those of each feature are in `features[name]`, and all of these are None."""

    def __init__(self, step, job):
        self.labels = _labels(step.labels(), job.labels)  # [examples]; of several, that of each by its name.
        self.weights = step.weights()  # [examples]; None: all are 1. Capstan multiplies the losses by them.
        self.numbers = step.numbers()  # [examples, job.numbers]
        self.values = step.values()    # One a key of a record; None: all are 1.
        self.examples = step.examples
        # By table, [distinct keys, dim]: the embeddings. Leaves: their gradients are pushed.
        self.tables = [_of_width(step.rows(table), dim) for table, dim in enumerate(job.dims or [0])]
        self.offsets = self.index = self.keys = self.rows = self.bags = None
        # Negatives: by the feature's name, while training a job with data.negatives.
        self.features, self.negatives = Named("feature", {}), Named("drawn feature", {})
        if job.features:
            index = [step.index(table) for table in range(len(job.dims))]
            self.features.update({feature.name: self._bags(step, place, feature.weighted, index[feature.table], self.tables[feature.table])
                                  for place, feature in enumerate(job.features)})
            if drawn := step.negatives():
                feature = job.features[drawn[0]]
                self.negatives[feature.name] = self._negatives(drawn, feature, index[feature.table], self.tables[feature.table])
        else:
            self.offsets = step.offsets()  # [examples + 1]
            self.index = step.index(0)     # A key of a record -> its row.
            self.keys = step.keys(0)       # [rows]: the distinct keys.
            self.rows = self.tables[0]     # [rows, job.dim]
            self.bags = Bags(self.offsets, self.index, self.rows, self.values)
        self._image = (*job.image, job.channels)

    @staticmethod
    def _bags(step, place, weighted, index, rows):
        offsets, begin = step.feature_offsets(place), step.feature_begin(place)
        weights = step.feature_weights(place)
        if weights is None and weighted:  # No record of the batch has a key.
            weights = rows.new_zeros(0)
        return Bags(offsets, index[begin:begin + int(offsets[-1])], rows, weights=weights)

    @staticmethod
    def _negatives(drawn, feature, index, rows):
        _, begin, log_share, of_records = drawn
        return Negatives(index[begin:begin + len(log_share)], rows, log_share, None if feature.many else of_records)

    @property
    def images(self):
        """[examples, channels, height, width], where records are images: a view of `numbers`, which have the channels of a pixel side by
        side."""
        return self.numbers.view(self.examples, *self._image).permute(0, 3, 1, 2)

    def __len__(self):
        return self.examples


def _of_width(rows, dim):
    """Rows that are none have a width, too."""
    return rows if rows.shape[0] else rows.reshape(0, dim)


def _labels(labels, named):
    if labels is None:
        return None
    if not named:
        return labels[:, 0]
    return Named("label", {label.name: labels[:, place] for place, label in enumerate(named)})
