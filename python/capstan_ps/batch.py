"""The batch that a step computes: the records' keys, numbers and labels, and the rows that were pulled, in the arrays of any library."""

import difflib
import functools


class UnknownName(KeyError):
    """A program asks for a feature, label or table that job.yaml does not name."""

    def __str__(self):
        return self.args[0]


class Named(dict):
    """The data of a batch for each feature or label, by its name."""

    def __init__(self, what, found):
        super().__init__(found)
        self._what = what

    def __missing__(self, name):
        if not self:
            raise UnknownName(f"there are no {self._what}s here, and no {name!r}")
        near = difflib.get_close_matches(str(name), [str(known) for known in self], n=1)
        raise UnknownName(f"job.yaml has no {self._what} {name!r}; it has {', '.join(self)}" + (f"; did you mean {near[0]}?" if near else ""))


class Negatives:
    """Keys of a feature that were drawn for a batch in addition to those of its records. They are given as places in `rows`, as the keys of
    the feature's bags are."""

    def __init__(self, index, rows, log_share, log_share_of_records):
        self.index = index          # [data.negatives.per_batch]
        self.rows = rows            # The rows of the feature's table.
        self.log_share = log_share  # For each drawn key, the logarithm of its share in all draws.
        # [examples]: the same for each record's own key. If a record has no key, or one that is not in the file of candidates, the share
        # is that of the rarest candidate. None if a record may have many keys of the feature.
        self.log_share_of_records = log_share_of_records


class Batch:
    """The records of a step. The keys of record e are `index[offsets[e]:offsets[e + 1]]`, which are places in `rows` and `keys`. With
    data.features all of these are None, and the keys of each feature are in `features[name]`.

    A subclass decides of which library the arrays are. Its `array` makes one from a buffer that a step hands out (it also supports DLPack),
    and `make_bags` and `make_negatives` make the objects for bags and negatives."""

    def __init__(self, step, job):
        self._step = step
        self.labels = _labels(self._array(step.labels()), job.labels)  # [examples]; with several labels, a Named of them.
        self.weights = self._array(step.weights())  # [examples]; None: all are 1. Capstan multiplies the losses by them.
        self.values = self._array(step.values())    # One for each key of each record; None: all are 1.
        self.examples = step.examples
        # For each table the embeddings, [distinct keys, dim]. They are leaves for automatic differentiation: their gradients are pushed.
        self.tables = [_of_width(self._array(step.rows(table)), dim) for table, dim in enumerate(job.dims or [0])]
        self.offsets = self.index = self.rows = self.bags = None
        # `negatives` has an entry, by the feature's name, only while a job with data.negatives is trained.
        self.features, self.negatives = Named("feature", {}), Named("drawn feature", {})
        if job.features:
            index = [self._index(step, table) for table in range(len(job.dims))]
            self.features.update({feature.name: self._bags(step, place, feature.weighted, index[feature.table], self.tables[feature.table])
                                  for place, feature in enumerate(job.features)})
            if drawn := step.negatives():
                feature = job.features[drawn[0]]
                self.negatives[feature.name] = self._negatives(drawn, feature, index[feature.table], self.tables[feature.table])
        else:
            self.offsets = self._array(step.offsets())  # [examples + 1]
            self.index = self._index(step, 0)           # For each key of each record, the place of its row.
            self.rows = self.tables[0]                  # [rows, job.dim]
            self.bags = self.make_bags(self.offsets, self.index, self.rows, self.values)
        self._image = (*job.image, job.channels)

    # Few programs use these, so the arrays are made only on demand: making one costs microseconds in each step.

    @functools.cached_property
    def numbers(self):
        """The numeric columns of the records: [examples, job.numbers]."""
        return self._array(self._step.numbers())

    @functools.cached_property
    def keys(self):
        """The distinct keys, [rows]; None with data.features."""
        return None if self.rows is None else self._array(self._step.keys(0))

    def _array(self, handed):
        return None if handed is None else self.array(handed)

    def _index(self, step, table):
        return self._array(step.index(table))

    def _bags(self, step, place, weighted, index, rows):
        offsets, begin = self._array(step.feature_offsets(place)), step.feature_begin(place)
        weights = self._array(step.feature_weights(place))
        if weights is None and weighted:  # No record of the batch has a key of the feature.
            weights = rows.reshape(-1)[:0]
        return self.make_bags(offsets, index[begin:begin + int(offsets[-1])], rows, weights=weights)

    def _negatives(self, drawn, feature, index, rows):
        _, begin, log_share, of_records = drawn
        log_share, of_records = self._array(log_share), self._array(of_records)
        return self.make_negatives(index[begin:begin + len(log_share)], rows, log_share, None if feature.many else of_records)

    def __len__(self):
        return self.examples


def _of_width(rows, dim):
    """Gives an array without rows the width `dim`, too."""
    return rows if rows.shape[0] else rows.reshape(0, dim)


def _labels(labels, named):
    if labels is None:
        return None
    if not named:
        return labels[:, 0]
    return Named("label", {label.name: labels[:, place] for place, label in enumerate(named)})
