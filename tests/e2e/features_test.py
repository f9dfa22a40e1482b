"""Towers over data.features: ids, hashed texts, texts of a vocabulary and bags of them, in tables of their own or shared."""

import math
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import onnx_runtime
from crew import BINARIES, Crew, run_to_end, view_pb2
from model_server import Server, column, columns_of

EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "deploy" / "examples" / "features" / "films.yaml"
CITIES = ["Bern", "Rome", "Lima"]
TAGS = ["new", "loud", "short", "grim", "slow"]
VISITS_NAMES = "went,price,user,film,city,tags,scores,seen\n"
VISITS_RATES = {"user": 2, "film": 1, "city": 2, "tags": 2, "dense": 0.5}
VISITS_EPOCHS = 20
VISITS = f"""
job: visits
data:
  format: csv
  header: true
  train: train.csv
  eval: test.csv
  schema: {{label: went, numeric: price}}
  shuffle: false
  pieces: 1
  task_bytes: 1MiB
  features:
    user: {{column: user, kind: id}}
    film: {{column: film, kind: id}}
    city: {{column: city, kind: vocabulary, file: cities.txt, unknown: 1}}
    tags: {{column: tags, many: true, weights: scores, pooling: sum}}
    seen: {{column: seen, kind: id, table: film, many: true, most: 3, pooling: mean}}
tables:
  film: {{optimizer: {{kind: sgd, learning_rate: {VISITS_RATES["film"]}}}}}
model: {{preset: lr}}
optimizer: {{sparse: {{kind: sgd, learning_rate: {VISITS_RATES["user"]}}}, dense: {{kind: sgd, learning_rate: {VISITS_RATES["dense"]}}}}}
update: {{sparse: {{policy: sync, lanes: 1}}, dense: {{policy: sync, lanes: 1}}}}
train: {{batch_size: 1024, epochs: {VISITS_EPOCHS}}}
"""


def visits(seed, rows):
    """Records of (went, price, user, film, city, [(tag, score)], [seen])."""
    draw = random.Random(seed)
    records = []
    for _ in range(rows):
        tags = [(tag, draw.choice((0.5, 1.0, 2.0))) for tag in draw.sample(TAGS, draw.randrange(4))]
        seen = [draw.randrange(12) for _ in range(draw.randrange(6))]
        user, film = draw.choice((None, *range(20))), draw.randrange(12)
        city, price = draw.choice([*CITIES, "Oslo", ""]), draw.randrange(100) / 100
        score = (city == "Rome") + film / 6 + sum(s * (tag == "loud") for tag, s in tags) - seen.count(3) - price - 1
        went = int(draw.random() < 1 / (1 + math.exp(-score)))
        records.append((went, price, user, film, city, tags, seen))
    return records


def line_of(record):
    went, price, user, film, city, tags, seen = record
    return (f"{went},{price},{'' if user is None else user},{film},{city},{'|'.join(tag for tag, _ in tags)},"
            f"{'|'.join(str(score) for _, score in tags)},{'|'.join(map(str, seen))}\n")


def shares_of(record):
    """[((table, key), by what its weight is multiplied)] of a record."""
    _, _, user, film, city, tags, seen = record
    shares = [(("user", user), 1)] if user is not None else []
    shares += [(("film", film), 1), (("city", city if city in CITIES else "others"), 1)]
    shares += [(("tags", tag), score) for tag, score in tags]
    first = seen[:3]
    return shares + [(("film", key), 1 / len(first)) for key in first]


def regression(train):
    """Plain logistic regression by gradient descent over all records at once: the score of a record."""
    weights, bias, of_price = {}, 0.0, 0.0

    def score(record):
        logit = bias + of_price * record[1] + sum(share * weights.get(key, 0) for key, share in shares_of(record))
        return 1 / (1 + math.exp(-logit))

    for _ in range(VISITS_EPOCHS):
        errors = [(score(record) - record[0]) / len(train) for record in train]
        bias -= VISITS_RATES["dense"] * sum(errors)
        of_price -= VISITS_RATES["dense"] * sum(error * record[1] for error, record in zip(errors, train))
        gradients = {}
        for error, record in zip(errors, train):
            for key, share in shares_of(record):
                gradients[key] = gradients.get(key, 0) + error * share
        for key, gradient in gradients.items():
            weights[key] = weights.get(key, 0) - VISITS_RATES[key[0]] * gradient
    return score


GENRES = {"Comedy": 2, "Drama": 0.5, "Horror": -2, "Action": 0, "Romance": 1, "War": -1, "Western": -0.5, "Crime": 0}
FILMS_NAMES = "liked,user_id,film_id,genres,seen,year\n"


def films(seed, rows):
    """(lines, [(the score by which the label was drawn, the label)]): what one likes depends on the genres alone."""
    draw, shelf = random.Random(seed), random.Random(0)
    of_film = [shelf.sample(list(GENRES), shelf.randint(1, 3)) for _ in range(60)]
    lines, drawn = [], []
    for _ in range(rows):
        film = draw.randrange(60)
        score = 2 * sum(GENRES[genre] for genre in of_film[film]) / len(of_film[film])
        liked = int(draw.random() < 1 / (1 + math.exp(-score)))
        seen = "|".join(str(draw.randrange(60)) for _ in range(draw.randrange(4)))
        lines.append(f"{liked},{draw.randrange(50)},{film},{'|'.join(of_film[film])},{seen},{draw.randint(1930, 2020)}\n")
        drawn.append((score, liked))
    return lines, drawn


def auc(scored):
    """The share of pairs of a 1 and a 0 of which the 1 has the higher score; half of those with the same one."""
    ranks, at = {}, 0
    values = sorted(score for score, _ in scored)
    while at < len(values):
        end = at
        while end < len(values) and values[end] == values[at]:
            end += 1
        ranks[values[at]] = (at + end + 1) / 2
        at = end
    ones = sum(label for _, label in scored)
    total = sum(ranks[score] for score, label in scored if label)
    return (total - ones * (ones + 1) / 2) / (ones * (len(scored) - ones))


class FeaturesTest(unittest.TestCase):

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def write(self, name, lines):
        path = self.folder / name
        path.write_text("".join(lines))
        return path

    def visits_job(self):
        self.write("cities.txt", [city + "\n" for city in CITIES])
        job = VISITS
        for name in ("train.csv", "test.csv", "cities.txt"):
            job = job.replace(name, str(self.folder / name))
        return job

    def write_films(self):
        """The example job, and the scores by which the held-out labels were drawn."""
        self.write("train.csv", [FILMS_NAMES, *films(1, 6000)[0]])
        lines, drawn = films(2, 2000)
        self.write("test.csv", [FILMS_NAMES, *lines])
        return EXAMPLE.read_text().replace("../../../data/films", str(self.folder)), drawn

    def assert_exported(self, crew, scores):
        """What is exported has the same scores of test.csv, also by score.py, where there is NumPy, and in ONNX Runtime."""
        code, said = run_to_end("capstan", "checkpoint", "export", crew.manifest().parent, self.folder / "model", "--python", "--onnx")
        self.assertEqual(code, 0, said)
        self.assertEqual(crew.predict_with(self.folder / "model", self.folder / "test.csv"), scores)
        self.assert_scored(["/usr/bin/python3", "-I", "model/score.py", "test.csv"], scores)
        if not onnx_runtime.lack():
            self.assert_scored(["/usr/bin/python3", "-c", onnx_runtime.PROGRAM, onnx_runtime.FOLDER, "test.csv"], scores)

    def assert_scored(self, command, scores):
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False)
        if "No module named 'numpy'" in done.stderr:
            self.addCleanup(self.skipTest, "no python3 with NumPy here (Debian: python3-numpy)")
            return
        self.assertEqual(done.returncode, 0, done.stderr)
        for i, (score, want) in enumerate(zip(map(float, done.stdout.splitlines()), scores, strict=True)):
            self.assertAlmostEqual(score, want, delta=1e-5, msg=f"record {i}")

    def test_a_logistic_regression_is_what_gradient_descent_by_hand_makes_of_the_same_bags(self):
        train, test = visits(1, 600), visits(2, 200)
        self.write("train.csv", [VISITS_NAMES, *map(line_of, train)])
        held_out = self.write("test.csv", [VISITS_NAMES, *map(line_of, test)])
        expected = [regression(train)(record) for record in test]
        self.assertGreater(max(expected) - min(expected), 0.4, "they are not all the same")
        with Crew(self.visits_job(), shards=2, workers=1) as crew:
            last = crew.wait()
            self.assertEqual(last.state, view_pb2.JOB_STATE_COMPLETED, last.reason)
            scores = crew.predict(held_out)
            for i, (score, want) in enumerate(zip(scores, expected, strict=True)):
                self.assertAlmostEqual(score, want, delta=1e-4, msg=f"record {i}")
            self.assert_exported(crew, scores)
            told = crew.final("auc")
            self.assertAlmostEqual(told, auc([(want, record[0]) for want, record in zip(expected, test)]), delta=2e-3)
            evaluated = subprocess.run([BINARIES / "capstan", "evaluate", crew.manifest().parent, held_out], check=True,
                                       capture_output=True, text=True)
            self.assertAlmostEqual(float(evaluated.stdout.split("AUC")[1].split()[0]), told, delta=1e-3)

    def test_a_deepfm_learns_from_the_genres_of_films(self):
        job, drawn = self.write_films()
        with Crew(job, shards=1, workers=2) as crew:
            last = crew.wait()
            self.assertEqual(last.state, view_pb2.JOB_STATE_COMPLETED, last.reason)
            bar = auc(drawn)
            self.assertGreater(crew.final("auc"), bar - 0.04, f"the labels were drawn by scores of {bar}")
            self.assertGreater(crew.final("group_auc"), bar - 0.06)
            scores = crew.predict(self.folder / "test.csv")
            self.assertAlmostEqual(auc([(score, label) for score, (_, label) in zip(scores, drawn, strict=True)]),
                                   crew.final("auc"), delta=2e-3)
            model = crew.manifest().parent
            lines = (self.folder / "test.csv").read_text().splitlines()[1:101]
            with Server(model) as server:
                for served, score in zip(columns_of(server.infer(column("records", lines)))["score"], scores[:100], strict=True):
                    self.assertAlmostEqual(served, score, delta=1e-6)
            self.assert_exported(crew, scores)

    def test_in_rounds_it_is_the_same_model_bit_for_bit_whoever_trains(self):
        job, _ = self.write_films()
        policy = "{policy: sync, lanes: 3}"
        overrides = [f"update={{sparse: {policy}, dense: {policy}}}", "train.epochs=1"]
        fingerprints = []
        for workers in (1, 3):
            with Crew(job, shards=2, workers=workers, overrides=overrides) as crew:
                crew.wait()
                fingerprints.append(crew.fingerprint())
        self.assertEqual(*fingerprints)

    def test_what_towers_cannot_take_is_refused_by_its_name(self):
        job, _ = self.write_films()
        for changed, expected in (
                (job.replace("most: 50, pooling: mean", "most: 50, pooling: none"), "data.features.seen.pooling: none is a sequence"),
                (job.replace("user: {admission_count: 2}", "user: {dim: 4}"), "user has 4, film has 8; give their tables one dim"),
                (job.replace("preset: deepfm, embedding_dim: 8, hidden: [32, 16]", "preset: mf").replace(", group: user_id", ""),
                 "mf needs two keys a record"),
                (job.replace("transform: standard", "transform: bucket, boundaries: [1980]"), ".transform: bucket makes keys"),
        ):
            with self.subTest(expected):
                self.assertNotEqual(changed, job)
                code, said = run_to_end("capstan", "config", "check", self.write("job.yaml", [changed]))
                self.assertEqual(code, 2, said)
                self.assertIn(expected, said)
        other = job.replace("preset: deepfm", "preset: wide_deep").replace("user: {admission_count: 2}", "user: {dim: 4}")
        code, said = run_to_end("capstan", "config", "check", self.write("job.yaml", [other]))
        self.assertEqual(code, 0, said)
        self.assertIn("floats a row: user 5, film 9, genres 9", said)


if __name__ == "__main__":
    unittest.main(verbosity=2)
