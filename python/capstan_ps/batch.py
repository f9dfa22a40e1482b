"""What a step's records are: keys, numbers and labels, and the rows that the step has pulled, in the arrays of any library."""

import difflib
import functools


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


class Negatives:
    """Keys that were drawn for a batch as what its records might have had instead: places in `rows`, as those of the feature's bags are."""

    def __init__(self, index, rows, log_share, log_share_of_records):
        self.index = index          # [data.negatives.per_batch]
        self.rows = rows            # Of the feature's table.
        self.log_share = log_share  # Of each of them: the logarithm of its share in all that is drawn.
        # [examples]: the same of each record's own key; that of the rarest candidate where the record has none, or one that the file of
        # candidates lacks. None where a record may have many.
        self.log_share_of_records = log_share_of_records


class Batch:
    """The records of a step. A record's keys are `index[offsets[e]:offsets[e + 1]]`, places in `rows` and `keys`; with
    data.features, those of each feature are in `features[name]`, and all of these are None. What derives from it says whose arrays these
    are, by the functions `array`, of what a step hands out (buffers that DLPack knows, too), `make_bags` and `make_negatives`."""

    def __init__(self, step, job):
        self._step = step
        self.labels = _labels(self._array(step.labels()), job.labels)  # [examples]; of several, that of each by its name.
        self.weights = self._array(step.weights())  # [examples]; None: all are 1. Capstan multiplies the losses by them.
        self.values = self._array(step.values())    # One a key of a record; None: all are 1.
        self.examples = step.examples
        # By table, [distinct keys, dim]: the embeddings. Leaves: their gradients are pushed.
        self.tables = [_of_width(self._array(step.rows(table)), dim) for table, dim in enumerate(job.dims or [0])]
        self.offsets = self.index = self.rows = self.bags = None
        # Negatives: by the feature's name, while training a job with data.negatives.
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
            self.index = self._index(step, 0)           # A key of a record -> its row.
            self.rows = self.tables[0]                  # [rows, job.dim]
            self.bags = self.make_bags(self.offsets, self.index, self.rows, self.values)
        self._image = (*job.image, job.channels)

    # What few programs ask for becomes an array where it is asked for: making one takes microseconds of each step.

    @functools.cached_property
    def numbers(self):
        """[examples, job.numbers]"""
        return self._array(self._step.numbers())

    @functools.cached_property
    def keys(self):
        """[rows]: the distinct keys; None with data.features."""
        return None if self.rows is None else self._array(self._step.keys(0))

    def _array(self, handed):
        return None if handed is None else self.array(handed)

    def _index(self, step, table):
        return self._array(step.index(table))

    def _bags(self, step, place, weighted, index, rows):
        offsets, begin = self._array(step.feature_offsets(place)), step.feature_begin(place)
        weights = self._array(step.feature_weights(place))
        if weights is None and weighted:  # No record of the batch has a key.
            weights = rows.reshape(-1)[:0]
        return self.make_bags(offsets, index[begin:begin + int(offsets[-1])], rows, weights=weights)

    def _negatives(self, drawn, feature, index, rows):
        _, begin, log_share, of_records = drawn
        log_share, of_records = self._array(log_share), self._array(of_records)
        return self.make_negatives(index[begin:begin + len(log_share)], rows, log_share, None if feature.many else of_records)

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
