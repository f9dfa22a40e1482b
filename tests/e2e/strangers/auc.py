"""The area under the ROC curve, by counting pairs."""

import bisect


def auc(scores, labels):
    """The share of the pairs of a record of label 0 and one of label 1 in which the latter has the larger score; of equal ones half."""
    negatives = sorted(score for score, label in zip(scores, labels, strict=True) if label == 0)
    positives = [score for score, label in zip(scores, labels, strict=True) if label == 1]
    wins = sum(bisect.bisect_left(negatives, p) + bisect.bisect_right(negatives, p) for p in positives) / 2
    return wins / len(negatives) / len(positives)
