"""Writes the scores of a model that the user's own program computes, one line for each record, as `capstan predict` does for other models.

    python3 -m capstan_ps.predict out/ctr test.csv --program model.py

MODEL is the folder of a checkpoint, a job or an export. DATA are files in the job's format; if the job reads folders of images, they are
such folders. See docs/python.md."""

import numpy as np

from capstan_ps import score as _score
from capstan_ps import user_program as _program
from capstan_ps.model import load

NAME = "capstan_ps.predict"


def scores(model, program, path):
    """Yields the scores of the records at the path, a batch at a time: [records] or [records, outputs]."""
    built = program.model_of(model)
    for records in _read(model, path):
        logits = program.logits(built, records, model.job)
        yield model.predictions(np.asarray(logits, np.float64).reshape(records.examples, -1))


def _read(model, path):
    """Yields the records from which the program's batches are made."""
    batches = model.batches(path, lambda records, job: records)
    while True:
        try:
            records = next(batches, None)
        except (OSError, ValueError) as error:  # The message names the file and the line that do not fit.
            raise _program.Refused(error) from None
        if records is None:
            return
        yield records


def run():
    arguments = _program.parser(NAME, __doc__)
    arguments.add_argument("model", metavar="MODEL")
    arguments.add_argument("data", metavar="DATA", nargs="+")
    asked = arguments.parse_args()
    try:
        model = load(asked.model)
    except (OSError, ValueError) as error:
        raise _program.Refused(error) from None
    program = _program.Program(asked.program)
    if program.predict is None:
        raise _program.Refused(f"{program.name} hands no predict to train(), which gives the logits of records")
    for path in asked.data:
        for of_batch in scores(model, program, path):
            print("\n".join(_score.text_of(of_record) for of_record in of_batch))


if __name__ == "__main__":
    _program.main(NAME, run)
