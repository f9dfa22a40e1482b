"""Data as strangers bring it, made up: look-alikes of well-known kinds, with nothing copied from any.

    python3 generate.py FOLDER [KIND ...]      writes FOLDER/KIND/train.* and test.*

The same program writes the same bytes everywhere. Labels are drawn from a probability, or have noise, so that no model can
be right about all of them; what the truth itself reaches is in reference.json where scikit-learn has no like model.
"""

import argparse
import bisect
import hashlib
import itertools
import math
import pathlib
import random
import struct


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


class Source(random.Random):
    """Draws of one kind; another kind has others."""

    def often(self, count, exponent=1.0):
        """A function that draws one of `count` things, the first ones often: Zipf's law."""
        cumulative = list(itertools.accumulate(1 / (rank + 1) ** exponent for rank in range(count)))
        return lambda: bisect.bisect(cumulative, self.random() * cumulative[-1])

    def effects(self, count, deviation):
        return [self.gauss(0, deviation) for _ in range(count)]

    def coin(self, logit):
        return int(self.random() < sigmoid(logit))


def write(folder, name, lines):
    (folder / name).write_text("".join(line + "\n" for line in lines))


def sparse_text(folder, draw):
    """Messages as libsvm: the words of each and how often they occur, 1 + log of it."""
    words, weight = draw.often(3000), draw.effects(3000, 0.9)

    def message():
        counts = {}
        for _ in range(draw.randint(15, 60)):
            word = words()
            counts[word] = counts.get(word, 0) + 1
        values = {word: 1 + math.log(count) for word, count in counts.items()}
        label = draw.coin(sum(weight[word] * value for word, value in values.items()) / 2)
        return " ".join([f"{2 * label - 1:+d}", *(f"{word + 1}:{values[word]:.4g}" for word in sorted(values))])
    write(folder, "train.svm", (message() for _ in range(8000)))
    write(folder, "test.svm", (message() for _ in range(4000)))


def click_log(folder, draw):
    """Advertisements shown, as CSV: the label, then eight columns of text, some with many values."""
    sizes = (24, 7, 300, 500, 900, 1500, 60, 5)
    columns = [(draw.often(size, 1.1), draw.effects(size, 0.5)) for size in sizes]

    def shown():
        values = [value() for value, _ in columns]
        logit = -1.6 + sum(effect[value] for (_, effect), value in zip(columns, values))
        return ",".join([str(draw.coin(logit)), *(f"{value * 2654435761 % 2 ** 32:08x}" for value in values)])
    write(folder, "train.csv", (shown() for _ in range(20000)))
    write(folder, "test.csv", (shown() for _ in range(8000)))


def sampled(folder, draw):
    """Clicks as CSV with names of columns. Of what nobody clicked, nine in ten are left out of the training file, and those that are
    in it weigh ten; the test file has all."""
    sizes = (12, 40, 200, 6)
    columns = [(draw.often(size, 1.1), draw.effects(size, 0.7)) for size in sizes]
    names = ",".join(["clicked", "weight", "site", "slot", "campaign", "device"])

    def shown(keep):
        while True:
            values = [value() for value, _ in columns]
            label = draw.coin(-3 + sum(effect[value] for (_, effect), value in zip(columns, values)))
            if label or draw.random() < keep:
                return ",".join([str(label), str(1 if label else round(1 / keep)), *(f"v{value}" for value in values)])
    write(folder, "train.csv", [names, *(shown(0.1) for _ in range(20000))])
    write(folder, "test.csv", [names, *(shown(1) for _ in range(20000))])


def visits(folder, draw):
    """Who clicked and who bought, as CSV with names of columns: two labels, of which the second one comes from the first alone."""
    sizes = (15, 60, 300, 5)
    columns = [(draw.often(size, 1.1), draw.effects(size, 0.6), draw.effects(size, 0.6)) for size in sizes]
    names = "shop,item,campaign,bought,device,clicked"

    def visit():
        values = [value() for value, _, _ in columns]
        click = draw.coin(-0.8 + sum(effect[value] for (_, effect, _), value in zip(columns, values)))
        buy = click and draw.coin(-0.5 + sum(effect[value] for (_, _, effect), value in zip(columns, values)))
        shop, item, campaign, device = (f"v{value}" for value in values)
        return ",".join([shop, item, campaign, str(int(buy)), device, str(int(click))])
    for name, count in (("train", 24000), ("test", 12000)):
        write(folder, f"{name}.csv", itertools.chain([names], (visit() for _ in range(count))))


def orders(folder, draw):
    """Who bought, and for how much, as CSV with names of columns: of those who did not, the amount is an empty cell."""
    sizes = (15, 60, 5)
    columns = [(draw.often(size, 1.1), draw.effects(size, 0.6), draw.effects(size, 0.8)) for size in sizes]
    names = "shop,item,bought,device,visits,amount"

    def order():
        values, visits = [value() for value, _, _ in columns], draw.gauss(0, 1)
        bought = draw.coin(0.2 + 0.5 * visits + sum(effect[value] for (_, effect, _), value in zip(columns, values)))
        amount = 3 + 0.7 * visits + sum(effect[value] for (_, _, effect), value in zip(columns, values)) + draw.gauss(0, 1)
        shop, item, device = (f"v{value}" for value in values)
        return ",".join([shop, item, str(bought), device, f"{visits:.4g}", f"{amount:.4g}" if bought else ""])
    for name, count in (("train", 24000), ("test", 12000)):
        write(folder, f"{name}.csv", itertools.chain([names], (order() for _ in range(count))))


def census(folder, draw):
    """People, as CSV with names of columns: age, hours of work and years of school as they are, the rest text, the label
    too, which the file for tests writes with a dot."""
    texts = [([f"{name}-{value}" for value in range(size)], draw.effects(size, 0.8))
             for name, size in (("work", 8), ("trade", 14), ("family", 6), ("origin", 40))]

    def person(dot=""):
        age, hours, school = draw.randint(17, 80), min(99, max(1, round(draw.gauss(40, 12)))), draw.randint(1, 16)
        picked = [draw.randrange(len(values)) for values, _ in texts]
        logit = -1.4 + (age - 45) / 20 + (hours - 40) / 15 + (school - 9) / 4
        logit += sum(effects[value] for (_, effects), value in zip(texts, picked))
        words = [values[value] for (values, _), value in zip(texts, picked)]
        label = (">50K" if draw.coin(logit) else "<=50K") + dot
        return ",".join([str(age), str(hours), str(school), *words, label])
    names = "age,hours,school,work,trade,family,origin,income"
    write(folder, "train.csv", itertools.chain([names], (person() for _ in range(16000))))
    write(folder, "test.csv", itertools.chain([names], (person(".") for _ in range(8000))))


def pairs(folder, draw):
    """Who liked what, as CSV: a user, an item, 0 or 1. Tastes have four directions."""
    users = [([draw.gauss(0, 1) for _ in range(4)], draw.gauss(0, 0.5)) for _ in range(500)]
    items = [([draw.gauss(0, 1) for _ in range(4)], draw.gauss(0, 0.5)) for _ in range(300)]

    def seen(truth):
        user, item = draw.randrange(500), draw.randrange(300)
        logit = users[user][1] + items[item][1] + sum(a * b for a, b in zip(users[user][0], items[item][0]))
        label = draw.coin(logit)
        truth.append((logit, label))
        return f"u{user},i{item},{label}"
    truth = []
    write(folder, "train.csv", (seen([]) for _ in range(60000)))
    write(folder, "test.csv", (seen(truth) for _ in range(8000)))
    write(folder, "truth.txt", (f"{logit:.6g} {label}" for logit, label in truth))


def ratings(folder, draw):
    """Stars for films, with TAB: user, film, 1 to 5 stars, the film's two genres."""
    users = [(draw.gauss(0, 0.4), draw.effects(12, 0.5)) for _ in range(400)]
    films = [(draw.gauss(0, 0.5), draw.sample(range(12), 2)) for _ in range(250)]

    def rating():
        user, film = draw.randrange(400), draw.randrange(250)
        genres = films[film][1]
        stars = 3.4 + users[user][0] + films[film][0] + sum(users[user][1][g] for g in genres) + draw.gauss(0, 0.7)
        return f"{user}\t{film}\t{min(5, max(1, round(stars)))}\tg{genres[0]}\tg{genres[1]}"
    write(folder, "train.tsv", (rating() for _ in range(30000)))
    write(folder, "test.tsv", (rating() for _ in range(6000)))


def regression(folder, draw):
    """A number to be foretold from twelve, as CSV with names of columns in the first line."""
    weight = draw.effects(12, 1)

    def record():
        values = [draw.gauss(0, 1) for _ in range(12)]
        target = 2 + sum(a * b for a, b in zip(weight, values)) + draw.gauss(0, 1)
        return ",".join(f"{value:.5g}" for value in (*values, target))
    names = ",".join([*(f"x{column}" for column in range(12)), "target"])
    write(folder, "train.csv", itertools.chain([names], (record() for _ in range(8000))))
    write(folder, "test.csv", itertools.chain([names], (record() for _ in range(4000))))


def images(folder, draw):
    """Pictures of 8 x 8 dots in ten classes, in the format of MNIST."""
    shapes = [[draw.choice((0, 0, 160)) for _ in range(64)] for _ in range(10)]

    def pictures(name, count):
        labels = [draw.randrange(10) for _ in range(count)]
        dots = bytes(min(255, max(0, round(draw.gauss(dot, 220)))) for label in labels for dot in shapes[label])
        (folder / f"{name}-images-idx3-ubyte").write_bytes(struct.pack(">BBBBIII", 0, 0, 8, 3, count, 8, 8) + dots)
        (folder / f"{name}-labels-idx1-ubyte").write_bytes(struct.pack(">BBBBI", 0, 0, 8, 1, count) + bytes(labels))
    pictures("train", 4000)
    pictures("test", 2000)


def classes(folder, draw):
    """Five kinds of a thing, from sixteen measurements, as CSV; the kind is the last column."""
    centres = [draw.effects(16, 0.6) for _ in range(5)]

    def thing():
        kind = draw.randrange(5)
        return ",".join([*(f"{draw.gauss(centre, 1):.4g}" for centre in centres[kind]), str(kind)])
    write(folder, "train.csv", (thing() for _ in range(8000)))
    write(folder, "test.csv", (thing() for _ in range(4000)))


def fraud(folder, draw):
    """Payments, as CSV: 1 in 60 is a fraud; amounts have long tails."""
    weight = draw.effects(15, 0.55)

    def payment():
        logs = [draw.gauss(1, 1) for _ in range(15)]
        label = draw.coin(-5.2 + sum(a * (b - 1) for a, b in zip(weight, logs)))
        return ",".join([*(f"{math.exp(value) - 1:.6g}" for value in logs), str(label)])
    write(folder, "train.csv", (payment() for _ in range(30000)))
    write(folder, "test.csv", (payment() for _ in range(15000)))


def sessions(folder, draw):
    """The last six pages of a visit, as TSV, the latest first; then whether something was bought."""
    pages = draw.often(200, 0.8)
    effects = [draw.effects(200, 1.0 / (1 + place)) for place in range(6)]

    def visit():
        seen = [pages() for _ in range(6)]
        label = draw.coin(-1 + sum(effect[page] for effect, page in zip(effects, seen)))
        return "\t".join([*(f"/page/{page}" for page in seen), str(label)])
    write(folder, "train.tsv", (visit() for _ in range(20000)))
    write(folder, "test.tsv", (visit() for _ in range(8000)))


def series(folder, draw):
    """A load that is measured every hour, as CSV: the last 48 values, and the next."""
    values = []
    for hour in range(9100):
        daily = math.sin(2 * math.pi * hour / 24) + 0.5 * math.sin(2 * math.pi * hour / 12)
        values.append(0.6 * (values[-1] if values else 0) + 0.5 * daily + draw.gauss(0, 0.5))
    windows = [",".join(f"{value:.5g}" for value in values[end - 48:end + 1]) for end in range(48, len(values))]
    write(folder, "train.csv", windows[:6500])
    write(folder, "test.csv", windows[6500:])


KINDS = {one.__name__: one for one in (sparse_text, click_log, sampled, visits, orders, census, pairs, ratings, regression, images, classes, fraud,
                                       sessions, series)}


def generate(kind, folder):
    folder.mkdir(parents=True, exist_ok=True)
    KINDS[kind](folder, Source(f"capstan {kind}"))


def digest(folder):
    """Of all bytes of a kind: results are those of the same data, or not comparable."""
    together = hashlib.sha256()
    for file in sorted(folder.iterdir()):
        together.update(file.read_bytes())
    return together.hexdigest()[:16]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path, help="each kind is written to a folder of its name in it")
    parser.add_argument("kind", nargs="*", help="; ".join(KINDS) + "; none named: all")
    words = parser.parse_args()
    unknown = [kind for kind in words.kind if kind not in KINDS]
    if unknown:
        parser.error(f"{unknown[0]} is no kind; expected one of {', '.join(KINDS)}")
    for kind in words.kind or KINDS:
        generate(kind, words.folder / kind)


if __name__ == "__main__":
    main()
