"""An exported model scores records without Capstan: score.py and NumPy say what `capstan predict` says, and so does ONNX
Runtime of model.onnx, for every preset and every text format, of values that training has never met as well. Equal models
are equal files."""

import gzip
import json
import os
import pathlib
import random
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import onnx_runtime  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
BIN = pathlib.Path(os.environ.get("CAPSTAN_BIN", ROOT / "build/dev/bin")).resolve()

SCHEMA = """{label: 0, categorical: "1-3", numeric: [{columns: 4}, {columns: 5, transform: log, missing: 2},
    {columns: 6, transform: bucket, boundaries: [-1, 0.5, 7]}]}"""
COLORS = ["red", "blue", "", "grün", "a, \"quoted\" one", "0x1f"]
# As much of the module zstandard as score.py uses.
ZSTANDARD = """
import subprocess
class ZstdDecompressor:
    def stream_reader(self, file, read_across_frames):
        assert read_across_frames
        return subprocess.Popen(["zstd", "-dc"], stdin=file, stdout=subprocess.PIPE, bufsize=0).stdout
"""
HEAD = "label,user,color,shop,price,length,age\n"


def quoted(text):
    return '"' + text.replace('"', '""') + '"' if set(text) & set(',"') else text


def clicks(rows, users, seed, label):
    """Lines of CSV; of the users, most are in training and in the test."""
    draw = random.Random(seed)
    for _ in range(rows):
        color = draw.choice(COLORS if users < 90 else COLORS + ["violet"])
        length = "" if draw.random() < 0.2 else f"{draw.uniform(-30, 30):.4f}"
        age = "" if draw.random() < 0.2 else str(draw.randint(-3, 12))
        yield ",".join([label(draw), f"u{draw.randrange(users)}", quoted(color), f"s{draw.randrange(users // 8)}",
                        f"{draw.gauss(0, 1):.5g}", length, age])


def pairs(rows, keys, seed, fields):
    """Lines of libsvm."""
    draw = random.Random(seed)
    for _ in range(rows):
        count = fields or draw.randint(0, 6)
        yield " ".join([str(draw.randint(0, 1))] + [f"{draw.randrange(keys)}:{draw.choice([1, 0.5, -2.25])}"
                                                     for _ in range(count)])


def idx(shape, pixels):
    return b"\0\0\x08" + bytes([len(shape)]) + struct.pack(f">{len(shape)}I", *shape) + bytes(pixels)


def python_with_numpy():
    for python in (sys.executable, "/usr/bin/python3"):
        if subprocess.run([python, "-c", "import numpy"], capture_output=True, check=False).returncode == 0:
            return python
    raise unittest.SkipTest("no python3 with NumPy here (Debian: python3-numpy)")


class ExportTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.python = python_with_numpy()
        cls.no_onnx = onnx_runtime.lack()

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_it(self, *command):
        done = subprocess.run([str(word) for word in command], cwd=self.folder, capture_output=True, text=True,
                              env={**os.environ, "PYTHONPATH": "", "TERM": "dumb"}, check=False, timeout=120)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def train(self, data, model, more="", shards=1):
        """The folder of the model's checkpoint."""
        job = f"""job: exported
data: {{{data}}}
model: {{embedding_stddev: 0.4, {model}}}
optimizer: {{sparse: {{kind: adagrad, learning_rate: 0.05}}, dense: {{kind: adam, learning_rate: 0.005}}}}
train: {{batch_size: 32, epochs: 1}}
checkpoint: {{uri: out}}
{more}"""
        (self.folder / "job.yaml").write_text(job)
        said = self.run_it(BIN / "capstan", "train", "job.yaml", "--shards", shards, "--workers", 1, "--fresh")
        return self.folder / re.search(r"(?m)^ *model +(\S+)", said)[1]

    def write_clicks(self, label=lambda draw: str(draw.randint(0, 1))):
        train = [HEAD, *(line + "\n" for line in clicks(400, 40, 1, label))]
        test = [HEAD, *(line + "\n" for line in clicks(200, 99, 2, label))]
        (self.folder / "train.csv").write_text("".join(train))
        (self.folder / "test.csv").write_text("".join(test))
        return f"format: csv, train: train.csv, eval: test.csv, header: true, schema: {SCHEMA}"

    def compare(self, checkpoint, test, expected):
        """Scores of score.py, and of model.onnx, beside those of predict."""
        self.run_it(BIN / "capstan", "checkpoint", "export", checkpoint, "model", "--python", "--onnx")
        scores = self.run_it(self.python, "-I", "model/score.py", test).splitlines()
        self.check_scores(scores, checkpoint, test, expected)
        if self.no_onnx:
            self.addCleanup(self.skipTest, self.no_onnx)
        elif not test.endswith(".gz"):
            scores = self.run_it("/usr/bin/python3", "-c", onnx_runtime.PROGRAM, onnx_runtime.FOLDER, test).splitlines()
            self.check_scores(scores, checkpoint, test, expected)

    def check_scores(self, scores, checkpoint, test, expected):
        wanted = self.run_it(BIN / "capstan", "predict", checkpoint, test).splitlines()
        self.assertEqual(len(scores), expected)
        self.assertEqual(len(wanted), expected)
        for i, (score, want) in enumerate(zip(scores, wanted)):
            for one, other in zip(score.split(","), want.split(","), strict=True):
                self.assertAlmostEqual(float(one), float(other), delta=1e-5, msg=f"record {i}")
        self.assertGreater(len(set(scores)), expected // 4, "they are not all the same")

    def test_presets_of_clicks(self):
        data = self.write_clicks()
        for preset in ("lr", "fm", "wide_deep", "deepfm", "dcn_v2", "dlrm", "mlp"):
            hidden = "" if preset in ("lr", "fm") else ", hidden: [16, 8]"
            with self.subTest(preset=preset):
                checkpoint = self.train(data, f"preset: {preset}, embedding_dim: 5{hidden}")
                self.compare(checkpoint, "test.csv", 200)

    def test_activations_of_hidden_layers_with_what_dropout_has_trained(self):
        data = self.write_clicks()
        for preset, activation in (("deepfm", "tanh"), ("deepfm", "sigmoid"), ("mlp", "gelu"), ("dcn_v2", "silu"),
                                   ("dlrm", "leaky_relu"), ("wide_deep", "elu")):
            with self.subTest(activation=activation):
                checkpoint = self.train(data, f"preset: {preset}, embedding_dim: 4, hidden: [8, 8], activation: {activation}, dropout: 0.2")
                self.compare(checkpoint, "test.csv", 200)

    def test_batch_norm_with_the_mean_and_variance_it_has_learned(self):
        data = self.write_clicks()
        for preset in ("deepfm", "dlrm"):
            with self.subTest(preset=preset):
                checkpoint = self.train(data, f"preset: {preset}, embedding_dim: 4, hidden: [8, 8], batch_norm: true")
                self.compare(checkpoint, "test.csv", 200)
                model = self.run_it(self.python, "-c", "import sys; sys.path.insert(0, 'model'); import score\n"
                                    "print([name for name, tensor in score.Model('model').tensors.items()"
                                    " if 'variance_' in name and abs(tensor - 1).max() > .01])")
                self.assertIn("variance_0", model, "it has learned")

    def test_a_softmax(self):
        data = self.write_clicks(lambda draw: str(draw.randrange(3)))
        self.compare(self.train(data, "preset: softmax, outputs: 3", shards=2), "test.csv", 200)

    def test_a_factorization_of_ratings(self):
        data = self.write_clicks(lambda draw: str(draw.randint(1, 5)))
        data = re.sub(r"schema: .*", "schema: {label: 0, categorical: [1, 3]}", data, flags=re.S)
        self.compare(self.train(data, "preset: mf, embedding_dim: 4"), "test.csv", 200)

    def test_a_convolution_of_images(self):
        draw = random.Random(3)
        for name, images in (("train", 120), ("test", 60)):
            (self.folder / f"{name}-images-idx3-ubyte").write_bytes(
                idx([images, 9, 7], [draw.randrange(256) for _ in range(images * 63)]))
            (self.folder / f"{name}-labels-idx1-ubyte").write_bytes(
                idx([images], [draw.randrange(4) for _ in range(images)]))
        checkpoint = self.train("format: idx, train: train-images-idx3-ubyte, eval: test-images-idx3-ubyte",
                                "preset: cnn, outputs: 4, hidden: [12]")
        self.compare(checkpoint, "test-images-idx3-ubyte", 60)

    def test_pairs_of_index_and_value(self):
        for name, preset, fields in (("libsvm", "fm", 0), ("libfm", "dcn_v2", 4)):
            with self.subTest(format=name):
                (self.folder / "train.txt").write_text("".join(l + "\n" for l in pairs(300, 60, 1, fields)))
                (self.folder / "test.txt").write_text("".join(l + "\n" for l in pairs(150, 120, 2, fields)))
                data = f"format: {name}, train: train.txt, eval: test.txt" + (f", fields: {fields}" if fields else "")
                self.compare(self.train(data, f"preset: {preset}, embedding_dim: 3, hidden: [8]"), "test.txt", 150)

    def test_text_between_tabs_and_packed_files(self):
        draw = random.Random(4)
        for name, users in (("train", 40), ("test", 99)):
            with open(self.folder / f"{name}.tsv", "w") as out:
                out.write("label\tuser\tcolor\tprice\n")
                for _ in range(200):
                    price = "" if draw.random() < 0.2 else f"{draw.uniform(-9, 9):.3f}"
                    out.write(f"{draw.randint(0, 1)}\tu{draw.randrange(users)}\t{draw.choice(COLORS)}\t{price}\n")
        schema = '{label: 0, categorical: "1-2", numeric: [{columns: 3, missing: 1}]}'
        checkpoint = self.train(f"format: tsv, train: train.tsv, eval: test.tsv, header: true, schema: {schema}",
                                "preset: deepfm, embedding_dim: 3, hidden: [4]")
        self.compare(checkpoint, "test.tsv", 200)
        content = (self.folder / "test.tsv").read_bytes()
        # Of two parts, as `cat` makes one of two.
        (self.folder / "test.tsv.gz").write_bytes(gzip.compress(content[:3000]) + gzip.compress(content[3000:]))
        self.compare(checkpoint, "test.tsv.gz", 200)
        self.check_zst(checkpoint, content)

    def check_zst(self, checkpoint, content):
        """With a module like zstandard, and without any."""
        if shutil.which("zstd") is None:
            self.addCleanup(self.skipTest, "no program zstd here: .zst was not tried")
            return
        packed = [subprocess.run(["zstd", "-c"], input=part, stdout=subprocess.PIPE, check=True).stdout
                  for part in (content[:3000], content[3000:])]
        (self.folder / "test.tsv.zst").write_bytes(b"".join(packed))
        (self.folder / "zstandard.py").write_text(ZSTANDARD)
        score = f"import sys; sys.path.append({str(self.folder)!r}); import score; score.main(['test.tsv.zst'])"
        scores = self.run_it(self.python, "-c", "import sys; sys.path.insert(0, 'model'); " + score)
        self.check_scores(scores.splitlines(), checkpoint, "test.tsv.zst", 200)
        (self.folder / "zstandard.py").write_text("raise ImportError")
        refused = subprocess.run([self.python, "-c", "import sys; sys.path.insert(0, 'model'); " + score],
                                 cwd=self.folder, capture_output=True, text=True, check=False)
        self.assertEqual(refused.returncode, 1)
        self.assertRegex(refused.stderr, r"^error: test\.tsv\.zst: .*needs the module zstandard.*zstd -d test\.tsv\.zst\n$")

    def test_the_synthetic_click_log(self):
        checkpoint = self.train("format: synthetic, task_records: 500, synthetic: {train_rows: 2000, eval_rows: 100}",
                                "preset: fm, embedding_dim: 3", shards=2)
        self.run_it(BIN / "capstan", "data", "generate", "clicks", "--rows", 10, "--eval-rows", 150)
        self.compare(checkpoint, "clicks/test.csv", 150)

    def test_a_record_without_its_label_scores_the_same(self):
        data = self.write_clicks()
        checkpoint = self.train(data, "preset: deepfm, embedding_dim: 3, hidden: [4]")
        lines = (self.folder / "test.csv").read_text().splitlines()
        (self.folder / "bare.csv").write_text("".join(line.partition(",")[2] + "\n" for line in lines))
        self.compare(checkpoint, "bare.csv", 200)
        self.assertEqual(self.run_it(self.python, "model/score.py", "bare.csv"),
                         self.run_it(self.python, "model/score.py", "test.csv"))

    def test_labels_of_two_losses(self):
        data = self.write_clicks()
        data = re.sub(r"schema: .*", """schema: {labels: {amount: {column: 4, loss: squared}, bought: {column: 0}},
            categorical: "1-3", numeric: [5, {columns: 6, missing: 2}]}""", data, flags=re.S)
        for preset in ("lr", "mlp"):
            with self.subTest(preset=preset):
                checkpoint = self.train(data, f"preset: {preset}, embedding_dim: 5")
                self.compare(checkpoint, "test.csv", 200)
                scores = [line.split(",") for line in self.run_it(self.python, "model/score.py", "test.csv").splitlines()]
                self.assertLess(min(float(amount) for amount, _ in scores), 0, "a number, no probability")
                self.assertTrue(all(0 < float(bought) < 1 for _, bought in scores))

    def test_what_is_standardized_is_so_before_and_behind_the_model(self):
        """As on data that somebody has standardized before."""
        data = self.write_clicks(lambda draw: f"{draw.uniform(200, 900):.3f}")
        data = re.sub(r"schema: .*", "schema: {label: 0, categorical: [1], numeric: [{columns: 4}, {columns: 6, missing: 2}]}",
                      data, flags=re.S)
        checkpoint = self.train(data, "preset: wide_deep, loss: squared, embedding_dim: 3, hidden: [4]")
        self.compare(checkpoint, "test.csv", 200)
        plain = [float(line) for line in self.run_it(self.python, "model/score.py", "test.csv").splitlines()]

        job = json.loads((self.folder / "model/job.json").read_text())
        job["data"] |= {"standardize_label": True, "label_mean": 500.0, "label_deviation": 20.0}
        for column, mean in zip(job["data"]["numeric"], (3.0, -1.0)):
            column |= {"transform": "NUMERIC_TRANSFORM_STANDARD", "mean": mean, "deviation": 4.0, "name": f"n{mean}"}
        (self.folder / "model/job.json").write_text(json.dumps(job))
        head, *lines = (self.folder / "test.csv").read_text().splitlines()
        raw = [head.replace("price", "n3.0").replace("age", "n-1.0")]
        for line in lines:
            cells = line.rsplit(",", 3)
            cells[1] = repr(float(cells[1]) * 4 + 3)
            cells[3] = cells[3] and repr(float(cells[3]) * 4 - 1)
            raw.append(",".join(cells))
        (self.folder / "raw.csv").write_text("\n".join(raw))
        scores = [float(line) for line in self.run_it(self.python, "model/score.py", "raw.csv").splitlines()]
        for score, want in zip(scores, plain, strict=True):
            self.assertAlmostEqual(score, 500 + 20 * want, delta=1e-3)
        swapped = subprocess.run([self.python, "model/score.py", "test.csv"], cwd=self.folder, capture_output=True,
                                 text=True, check=False)
        self.assertIn("column 4 is named 'price', expected 'n3.0'", swapped.stderr)

    def test_scores_in_a_unit_of_small_numbers_keep_their_digits(self):
        data = self.write_clicks(lambda draw: f"{draw.uniform(1e-7, 3e-7):.4g}") + ", label_transform: standard"
        data = re.sub(r"schema: .*}(?=, label_transform)", "schema: {label: 0, categorical: [1]}", data, flags=re.S)
        checkpoint = self.train(data, "preset: lr, loss: squared")
        self.run_it(BIN / "capstan", "checkpoint", "export", checkpoint, "model", "--python")
        told = self.run_it(BIN / "capstan", "predict", checkpoint, "test.csv").splitlines()
        scored = self.run_it(self.python, "model/score.py", "test.csv").splitlines()
        for one, other in zip(map(float, told), map(float, scored), strict=True):
            self.assertTrue(0 < one < 1e-6, one)
            self.assertAlmostEqual(one, other, delta=1e-4 * one)
        self.assertGreater(len(set(told)), 20, "they are not all the same")
        rmse = float(self.run_it(BIN / "capstan", "evaluate", checkpoint, "test.csv").split("RMSE ")[1].split()[0])
        self.assertTrue(0 < rmse < 1e-6, rmse)

    def test_equal_models_are_equal_files(self):
        checkpoint = self.train(self.write_clicks(), "preset: deepfm, embedding_dim: 3, hidden: [4]", shards=2)
        copy = self.run_it(BIN / "capstan", "checkpoint", "compact", checkpoint).strip()
        self.assertNotEqual(pathlib.Path(copy).name, checkpoint.name)
        for source, folder in ((checkpoint, "one"), (copy, "two")):
            self.run_it(BIN / "capstan", "checkpoint", "export", source, folder, "--python", "--slots")
        names = sorted(path.name for path in (self.folder / "one").iterdir())
        self.assertEqual(names, ["job.json", "model.safetensors", "score.py"])
        for name in names:
            self.assertEqual((self.folder / "one" / name).read_bytes(), (self.folder / "two" / name).read_bytes(), name)
        self.run_it(self.python, "-c", "import sys; sys.path.insert(0, 'one'); import score\n"
                    "keys = score.Model('one').tables['features'].keys; assert len(keys) > 40 and (keys[1:] > keys[:-1]).all()")


if __name__ == "__main__":
    unittest.main(verbosity=2)
