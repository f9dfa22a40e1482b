"""What scikit-learn reaches on the data of generate.py, as reference.json has it.

    python3 reference.py                writes it; needs scikit-learn, some seconds

Each kind is read here once more, by scikit-learn's own means where it has them, so that nothing of Capstan's decides what
is in a file."""

import csv
import json
import math
import pathlib
import tempfile

import numpy
import sklearn
from scipy.sparse import hstack
from sklearn.datasets import load_svmlight_file
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import accuracy_score, log_loss, roc_auc_score
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import generate

HERE = pathlib.Path(__file__).resolve().parent


def table(file, delimiter=",", header=False):
    with open(file, newline="") as lines:
        rows = list(csv.reader(lines, delimiter=delimiter))
    return numpy.array(rows[header:])


def numbers(folder, label, header=False, transform=lambda x: x):
    for name in ("train", "test"):
        rows = table(folder / f"{name}.csv", header=header).astype(float)
        yield transform(numpy.delete(rows, label, 1)), rows[:, label]


def one_hot(folder, label, suffix="csv"):
    delimiter = "\t" if suffix == "tsv" else ","
    rows = [table(folder / f"{name}.{suffix}", delimiter) for name in ("train", "test")]
    encoder = OneHotEncoder(handle_unknown="ignore").fit(numpy.delete(rows[0], label, 1))
    return [(encoder.transform(numpy.delete(one, label, 1)), one[:, label].astype(float)) for one in rows]


def people(folder):
    """Numbers standardized, text one-hot."""
    rows = [table(folder / f"{name}.csv", header=True) for name in ("train", "test")]
    scaler, encoder = StandardScaler().fit(rows[0][:, :3].astype(float)), OneHotEncoder().fit(rows[0][:, 3:7])
    for one in rows:
        yield hstack([scaler.transform(one[:, :3].astype(float)), encoder.transform(one[:, 3:7])]).tocsr(), numpy.char.startswith(one[:, 7], ">50K").astype(float)


def svm(folder):
    train = load_svmlight_file(str(folder / "train.svm"), n_features=3001, zero_based=False)
    test = load_svmlight_file(str(folder / "test.svm"), n_features=3001, zero_based=False)
    return train, test


def idx(folder):
    for name in ("train", "test"):
        dots = numpy.frombuffer((folder / f"{name}-images-idx3-ubyte").read_bytes()[16:], numpy.uint8)
        labels = numpy.frombuffer((folder / f"{name}-labels-idx1-ubyte").read_bytes()[8:], numpy.uint8)
        yield dots.reshape(-1, 64) / 255, labels


def auc(parts):
    (x, y), (x_test, y_test) = parts
    model = LogisticRegression(max_iter=1000).fit(x, y)
    return roc_auc_score(y_test, model.predict_proba(x_test)[:, 1])


def weighted_logloss(folder):
    """Of the test records as they are, after training with the weights of those that were kept."""
    rows = [table(folder / f"{name}.csv", header=True) for name in ("train", "test")]
    encoder = OneHotEncoder(handle_unknown="ignore").fit(rows[0][:, 2:])
    (x, y, weight), (x_test, y_test, _) = [(encoder.transform(one[:, 2:]), one[:, 0].astype(float), one[:, 1].astype(float))
                                           for one in rows]
    model = LogisticRegression(max_iter=1000).fit(x, y, sample_weight=weight)
    return log_loss(y_test, model.predict_proba(x_test)[:, 1])


def buyers(folder):
    """The second label alone, by all columns but the labels."""
    rows = [table(folder / f"{name}.csv", header=True) for name in ("train", "test")]
    encoder = OneHotEncoder(handle_unknown="ignore").fit(rows[0][:, [0, 1, 2, 4]])
    return [(encoder.transform(one[:, [0, 1, 2, 4]]), one[:, 3].astype(float)) for one in rows]


def ordered(folder, label):
    """By all columns but the labels: the records that have this one, bought or amount."""
    rows = [table(folder / f"{name}.csv", header=True) for name in ("train", "test")]
    place = {"bought": 2, "amount": 5}[label]
    rows = [one[one[:, place] != ""] for one in rows]
    encoder = OneHotEncoder(handle_unknown="ignore").fit(rows[0][:, [0, 1, 3]])
    return [(hstack([one[:, [4]].astype(float), encoder.transform(one[:, [0, 1, 3]])]).tocsr(), one[:, place].astype(float)) for one in rows]


def accuracy(parts):
    (x, y), (x_test, y_test) = parts
    return accuracy_score(y_test, LogisticRegression(max_iter=1000).fit(x, y).predict(x_test))


def rmse(parts):
    (x, y), (x_test, y_test) = parts
    return math.sqrt(numpy.mean((Ridge().fit(x, y).predict(x_test) - y_test) ** 2))


def truth(folder):
    """Of the probabilities that the labels were drawn with: scikit-learn has no factorization of pairs."""
    logit, label = numpy.loadtxt(folder / "truth.txt").T
    return roc_auc_score(label, logit)


# Kind: of each of its labels what is compared, the model it is compared with, a function of the folder that gives its value.
REFERENCES = {
    "sparse_text": [("auc", "LogisticRegression", lambda at: auc(svm(at)))],
    "click_log": [("auc", "LogisticRegression on one-hot columns", lambda at: auc(one_hot(at, 0)))],
    "sampled": [("logloss", "LogisticRegression on one-hot columns with the same weights", weighted_logloss)],
    "visits": [("buy/auc", "LogisticRegression on one-hot columns", lambda at: auc(buyers(at)))],
    "orders": [("auc", "LogisticRegression on one-hot columns", lambda at: auc(ordered(at, "bought"))),
               ("amount/rmse", "Ridge on one-hot columns", lambda at: rmse(ordered(at, "amount")))],
    "census": [("auc", "LogisticRegression on standardized numbers and one-hot text", lambda at: auc(people(at)))],
    "pairs": [("auc", "the probabilities that drew the labels", truth)],
    "ratings": [("rmse", "Ridge on one-hot columns", lambda at: rmse(one_hot(at, 2, "tsv")))],
    "regression": [("rmse", "Ridge", lambda at: rmse(numbers(at, 12, header=True)))],
    "images": [("accuracy", "LogisticRegression", lambda at: accuracy(idx(at)))],
    "classes": [("accuracy", "LogisticRegression", lambda at: accuracy(numbers(at, 16)))],
    "fraud": [("auc", "LogisticRegression on logarithms",
               lambda at: auc(numbers(at, 15, transform=lambda x: numpy.sign(x) * numpy.log1p(abs(x)))))],
    "sessions": [("auc", "LogisticRegression on one-hot columns", lambda at: auc(one_hot(at, 6, "tsv")))],
    "series": [("rmse", "Ridge", lambda at: rmse(numbers(at, 48)))],
}


def main():
    kinds = {}
    with tempfile.TemporaryDirectory() as scratch:
        for kind, references in REFERENCES.items():
            folder = pathlib.Path(scratch) / kind
            generate.generate(kind, folder)
            kinds[kind] = {"references": [{"metric": metric, "model": model, "value": round(float(value(folder)), 4)}
                                          for metric, model, value in references],
                           "data": generate.digest(folder)}
            print(kind, kinds[kind], flush=True)
    text = json.dumps({"scikit-learn": sklearn.__version__, "kinds": kinds}, indent=1)
    (HERE / "reference.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
