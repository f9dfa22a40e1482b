"""A model of one's own is taken out of its job: what a program computes with it there is what the job's last evaluation said."""

import csv
import math
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import types
import unittest
import unittest.mock

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
from python_data import CLICKS, EXAMPLES, LIKES, job_of_images, skip_if_lacking, write_likes

if __name__ == "__main__":
    skip_if_lacking()

sys.path[:0] = [os.environ["PYTHONPATH"], str(EXAMPLES)]
import numpy as np  # noqa: E402
import torch  # noqa: E402

import capstan_ps  # noqa: E402
import image_files  # noqa: E402
import parquet_writer  # noqa: E402
from capstan_ps import score  # noqa: E402
from crew import BINARIES, run_to_end  # noqa: E402
from parquet_writer import Column  # noqa: E402
from python_crew import PythonCrew  # noqa: E402


def logloss(scores, labels):
    return -sum(math.log(score if label > 0 else 1 - score) for score, label in zip(scores, labels, strict=True)) / len(labels)


class RecordsTest(unittest.TestCase):
    """How score.py reads records, which the model's `batch` and `batches` do, too."""

    def setUp(self):
        self.parser = score.CellParser({"format": "DATA_FORMAT_CSV", "columns": 2, "categorical": [{"column": 1}]})
        self.records = score.Records()

    def test_a_cell_may_be_as_long_as_in_training(self):
        for text in ("x" * 1_000_000, '"' + "x," * 500_000 + '"'):
            self.parser.parse(f"1,{text}", self.records)
        self.assertEqual(self.records.keys, [score.field_key(1, b"x" * 1_000_000), score.field_key(1, b"x," * 500_000)])

    def test_what_is_remembered_of_texts_is_bounded(self):
        with unittest.mock.patch.object(score, "MOST_KEYS_KEPT", 4):
            for place in range(100):
                self.parser.parse(f"1,text {place}", self.records)
                self.assertLessEqual(len(self.parser.keys), 4)
        self.assertEqual(self.records.keys, [score.field_key(1, f"text {place}".encode()) for place in range(100)])

    def test_blanks_in_front_of_pairs_of_index_and_value_do_not_count(self):
        parser = score.PairParser({})
        for line in ("1 2:0.5 3:1", "  1 2:0.5 3:1", "\t 1\t2:0.5  3:1 # 4:1", " 2:0.5 3:1"):
            records = score.Records()
            parser.parse(line, records)
            self.assertEqual((records.keys, records.values), ([2, 3], [0.5, 1]), line)


    def test_a_number_that_is_infinite_in_32_bits_is_refused_as_in_training(self):
        parser = score.CellParser({"format": "DATA_FORMAT_CSV", "columns": 2, "numeric": [{"column": 1}]})
        for cell in ("1e39", "-1e39", "3.4028236e38", "1e400", "inf", "nan", "1_0"):
            with self.assertRaisesRegex(ValueError, f"^'{cell}' is not a number$"):
                parser.parse(f"1,{cell}", self.records)
            with self.assertRaisesRegex(ValueError, f"^'{cell}' is not a number$"):
                score.PairParser({}).parse(f"1 2:{cell}", self.records)
        for cell in ("3.4028235e38", "-3.4028235e38", "1e-50"):
            parser.parse(f"1,{cell}", self.records)
        self.assertTrue(all(map(math.isfinite, self.records.numbers(1)[:, 0])))

    def test_columns_that_are_missing_are_not_taken_for_the_labels(self):
        parser = score.CellParser({"format": "DATA_FORMAT_CSV", "columns": 6, "labels": [{"column_name": "click"}, {"column": 1, "column_name": "buy"}],
                                   "categorical": [{"column": 4, "name": "item"}, {"column": 5, "name": "user"}]})
        parser.check_names("click,buy,hour,price,item,user")
        parser.check_names("hour,price,item,user")
        with self.assertRaisesRegex(ValueError, "^4 columns, expected 6 as in training, .*: column 4 was 'item', which is column 2 here$"):
            parser.check_names("click,buy,item,user")
        with self.assertRaisesRegex(ValueError, "^5 columns, expected 6 .*: there is none named 'user'$"):
            parser.check_names("click,buy,hour,price,item")

    def test_a_parquet_file_is_called_by_its_name(self):
        exported = score.Exported.__new__(score.Exported)
        exported.data = {"format": "DATA_FORMAT_PARQUET", "columns": 2, "categorical": [{"column": 1}]}
        with self.assertRaisesRegex(ValueError, "^x.parquet: is a Parquet file, .*to_csv"):
            list(exported.lines_of("x.parquet", [b"PAR1\x15\r\n"]))

    def test_towers_read_a_vector_of_each_feature_the_sum_or_mean_of_its_bag(self):
        film = {"name": "film", "column": 1, "kind": "KEY_KIND_ID", "table": "film"}
        seen = {**film, "name": "seen", "column": 2, "many": True, "most": 2, "pooling": "POOLING_MEAN", "weights": {"column": 3}}
        model = score.Model.__new__(score.Model)
        model.data = {"format": "DATA_FORMAT_CSV", "columns": 4, "features": [film, seen]}
        model.model = {"loss": "LOSS_LOGISTIC", "towers": [{"name": kind, "kind": kind} for kind in ("linear", "fm", "bias")]}
        model.tensors, model.places = {"bias/bias": np.array([0.5])}, {}
        table = {"name": "film", "seed": "1", "segments": [{"name": "linear", "width": 1}, {"name": "embedding", "offset": 1, "width": 2}]}
        rows = {3: [1, 10, 11], 5: [2, 20, 21], 8: [4, 40, 41]}
        model.tables = {"film": score.Table(table, np.array(list(rows), np.uint64), np.array(list(rows.values()), np.float32))}
        lines = ["1,3,5|8|3,3|1|9", "0,8,,", "1,5,3,0"]  # Of the first one's bag the third value is one too many.
        records = model.parsed(lines)
        self.assertEqual(records.bags[1], ([5, 8, 3], [0, 2, 2, 3], [3, 1, 0]))
        inputs = model.inputs_of_bags(records, np.zeros((3, 0)))
        self.assertEqual(inputs.features.tolist(), [[10, 11, 25, 26], [40, 41, 0, 0], [20, 21, 0, 0]])
        logits = [1 + 2.5 + 10 * 25 + 11 * 26 + 0.5, 4.5, 2.5]
        self.assertEqual(model.sum_of_towers(inputs)[:, 0].tolist(), logits)
        np.testing.assert_allclose(model.score(lines), [1 / (1 + math.exp(-logit)) for logit in logits])


class LoadTest(unittest.TestCase):

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)
        os.environ["CAPSTAN"] = str(BINARIES / "capstan")

    def trained(self, job, example, program="program.py"):
        """The checkpoint of the finished job, and what its last evaluation said."""
        with PythonCrew(job, example=example, workers=2, name=example, program=program) as crew:
            crew.wait()
            return shutil.copytree(crew.manifest().parent, self.folder / "checkpoint"), crew.last.evaluations[-1].metrics

    def scores(self, model, net, path):
        with torch.no_grad():
            return torch.cat([net(batch) for batch in model.batches(path)])

    def test_features_of_ids_texts_and_bags(self):
        from recommender import Recommender
        for name, count, seed in (("train", 3000, 1), ("test", 5000, 2)):  # Of the latter some users are new.
            write_likes(self.folder / f"{name}.csv", count, seed)
        test = self.folder / "test.csv"
        checkpoint, said = self.trained(LIKES % (self.folder / "train.csv", test), "recommender")
        model = capstan_ps.load(checkpoint)
        net = model.torch(Recommender)
        labels = [float(line.partition(",")[0]) for line in test.read_text().splitlines()[1:]]
        self.assertAlmostEqual(logloss(self.scores(model, net, test).sigmoid().tolist(), labels), said["logloss"], 6)

        # Without labels, too, and by the line.
        lines = test.read_text().splitlines()[1:]
        one, = net(model.batch(lines[:1])).tolist()
        self.assertAlmostEqual(net(model.batch([lines[0].partition(",")[2]])).item(), one, 6)
        self.assertEqual(set(model.tables), {"user", "item", "city"})
        items = model.tables["item"]
        for keys in (items.keys[:3], items.keys[:3].tolist(), torch.tensor(items.keys[:3].view("i8")), items.keys[:3].astype("i4")):
            self.assertEqual(items.rows(keys).tolist(), items.weights[:3].tolist())
        with self.assertRaisesRegex(ValueError, r"^a key of table item is a whole number from 0 to 2\^64-1, not -1$"):
            items.rows([-1])

        # What does not fit is told by name.
        with self.assertRaisesRegex(ValueError, r"^the program has further\.bias, and the model does not; .* by recommender\.py$"):
            model.torch(lambda job: self.with_another_layer(Recommender(job)))
        (self.folder / "bad.csv").write_text("\n".join([*test.read_text().splitlines()[:2], "1,x,,7,0.5,Bern,2"]))
        with self.assertRaisesRegex(ValueError, r"bad\.csv:3: 'x' is not an id"):
            self.scores(model, net, self.folder / "bad.csv")
        (self.folder / "swapped.csv").write_text("liked,clicked,item,user_id,price,city,two\n")
        with self.assertRaisesRegex(ValueError, r"column 1 is named 'clicked', expected 'item'"):
            self.scores(model, net, self.folder / "swapped.csv")
        self.check_program_of_towers(checkpoint)

    def test_texts_of_a_vocabulary_have_the_keys_of_training_wherever_the_model_goes(self):
        from recommender import Recommender
        for name, count, seed in (("train", 1000, 1), ("test", 1000, 2)):
            write_likes(self.folder / f"{name}.csv", count, seed)
        test, cities = self.folder / "test.csv", self.folder / "cities.txt"
        cities.write_text("Rom\nUri\n")
        job = (LIKES % (self.folder / "train.csv", test)).replace(
            "{column: city}", f"{{column: city, kind: vocabulary, file: {cities}, unknown: 2}}").replace("epochs: 6", "epochs: 1")
        checkpoint, said = self.trained(job, "recommender")
        code, told = run_to_end("capstan", "checkpoint", "export", checkpoint, self.folder / "exported")
        self.assertEqual(code, 0, told)
        self.assertEqual((self.folder / "exported/city.vocabulary.txt").read_text(), "Rom\nUri\n")
        cities.write_text("Uri\nRom\n")
        with self.assertRaisesRegex(ValueError, r"cities\.txt: the texts of data\.features\.city have changed since the job began: .* checksum"):
            capstan_ps.load(checkpoint)
        model = capstan_ps.load(self.folder / "exported")
        self.assertLessEqual(set(model.tables["city"].keys.tolist()), {1, 2, 3}, "Uri, and what Bern and the empty text share")
        labels = [float(line.partition(",")[0]) for line in test.read_text().splitlines()[1:]]
        found = self.scores(model, model.torch(Recommender), test).sigmoid().tolist()
        self.assertAlmostEqual(logloss(found, labels), said["logloss"], 6)

    def test_weights_of_bags_are_those_of_training(self):
        from recommender import Recommender
        for name, count, seed in (("train", 1000, 1), ("test", 1000, 2)):
            write_likes(self.folder / f"{name}.csv", count, seed)
            names, *records = (self.folder / f"{name}.csv").read_text().splitlines()
            weights = ("|".join(str(place % 3 / 2) for place, _ in enumerate(filter(None, record.split(",")[2].split("|")))) for record in records)
            lines = [f"{names},times", *(f"{record},{times}" for record, times in zip(records, weights, strict=True))]
            (self.folder / f"{name}.csv").write_text("\n".join(lines) + "\n")
        test = self.folder / "test.csv"
        job = (LIKES % (self.folder / "train.csv", test)).replace("pooling: mean", "weights: times, pooling: mean").replace("epochs: 6", "epochs: 1")
        checkpoint, said = self.trained(job, "recommender")
        model = capstan_ps.load(checkpoint)
        labels = [float(line.partition(",")[0]) for line in test.read_text().splitlines()[1:]]
        net = model.torch(Recommender)
        self.assertAlmostEqual(logloss(self.scores(model, net, test).sigmoid().tolist(), labels), said["logloss"], 6)
        record = "1,2,5|6,7,0.5,Bern,2"
        self.assertNotAlmostEqual(net(model.batch([f"{record},1|0"])).item(), net(model.batch([f"{record},0|1"])).item(), 4)

    def test_what_build_draws_is_what_it_drew_in_training_and_this_process_draws_on(self):
        from small_programs import Permuted
        for name, count, seed in (("train", 1000, 1), ("test", 1000, 2)):
            write_likes(self.folder / f"{name}.csv", count, seed)
        test = self.folder / "test.csv"
        checkpoint, said = self.trained(LIKES % (self.folder / "train.csv", test), "permuted", "small_programs.py")
        model = capstan_ps.load(checkpoint)
        labels = [float(line.partition(",")[0]) for line in test.read_text().splitlines()[1:]]
        draws = []
        for build in (lambda job: None, lambda job: nets.append(model.torch(Permuted))):
            nets = []
            torch.manual_seed(1)
            random.seed(2)
            np.random.seed(3)
            build(model.job)
            draws.append((torch.rand(1).item(), random.random(), np.random.random()))
        self.assertEqual(draws[0], draws[1])
        self.assertAlmostEqual(logloss(self.scores(model, nets[0], test).sigmoid().tolist(), labels), said["logloss"], 6)

    @staticmethod
    def with_another_layer(net):
        net.further = torch.nn.Linear(1, 1)
        return net

    def check_program_of_towers(self, checkpoint):
        """Who exports this model for the program that computes towers, or gives it to that, is told who computes it."""
        export = ("capstan", "checkpoint", "export", checkpoint, self.folder / "exported")
        code, said = run_to_end(*export, "--python")
        self.assertEqual(code, 2, said)
        self.assertRegex(said, r"--python: score\.py computes models of towers, and this one is the program recommender\.py; .*capstan_ps\.load")
        self.assertFalse((self.folder / "exported").exists())
        code, said = run_to_end(*export)
        self.assertEqual(code, 0, said)
        self.assertEqual(capstan_ps.load(self.folder / "exported").job.program, "recommender.py")
        shutil.copy(score.__file__, self.folder / "exported")
        done = subprocess.run([sys.executable, self.folder / "exported/score.py", "x.csv"], capture_output=True, text=True)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"^error: \S+: the model is the program recommender\.py; capstan_ps\.load\(folder\) gives its parameters\n$")

    def test_one_table_of_keys_of_whole_records(self):
        from deepfm import DeepFM
        checkpoint, said = self.trained(CLICKS % (4000, "user: deepfm.py"), "deepfm")
        code, told = run_to_end("capstan", "data", "generate", self.folder / "clicks", "--rows", "10", "--eval-rows", "4000")
        self.assertEqual(code, 0, told)
        test = self.folder / "clicks/test.csv"
        labels = [float(line.partition(",")[0]) for line in test.read_text().splitlines()]
        model = capstan_ps.load(checkpoint)
        found = self.scores(model, model.torch(DeepFM), test).sigmoid().tolist()
        self.assertAlmostEqual(logloss(found, labels), said["logloss"], 6)
        batch = next(model.batches(test))
        self.assertLess(batch.keys.min(), 0, "half of all hashes are, as int64 has them")
        self.assertTrue(torch.equal(torch.from_numpy(model.tables["features"].rows(batch.keys)), batch.rows.detach()))

    def test_images_and_the_statistics_that_batch_norm_has_learned(self):
        from cnn import build
        checkpoint, said = self.trained(job_of_images(self.folder), "cnn")
        model = capstan_ps.load(checkpoint)
        net = model.torch(build)
        images = types.SimpleNamespace(path=self.folder / "test-images-idx3-ubyte", labels=self.folder / "test-labels-idx1-ubyte")
        labels = torch.tensor(list(images.labels.read_bytes()[8:]))
        with torch.no_grad():
            logits = torch.cat([net(batch.images) for batch in model.batches(images.path)])
        self.assertAlmostEqual((logits.argmax(1) == labels).double().mean().item(), said["accuracy"], 6)
        self.assertAlmostEqual(torch.nn.functional.cross_entropy(logits.double(), labels).item(), said["logloss"], 5)
        self.assertEqual(set(model.state_dict()), {name for name in net.state_dict() if "num_batches" not in name})
        self.assertGreater(model.state_dict()["1.running_var"].sub(1).abs().max().item(), 0.01)

    def write_archives(self):
        """The images of `job_of_images`, as PNGs: train.tar, test.tar, and of the test images test.tfrecord and a folder for each class."""
        for split in ("train", "test"):
            image_files.idx_to_tar.main(self.folder / f"{split}-images-idx3-ubyte", self.folder / f"{split}.tar")
        pixels, labels = ((self.folder / f"test-{what}-ubyte").read_bytes() for what in ("images-idx3", "labels-idx1"))
        records = [(image_files.idx_to_tar.png(8, 8, pixels[16 + 64 * i:80 + 64 * i]), label) for i, label in enumerate(labels[8:])]
        (self.folder / "test.tfrecord").write_bytes(b"".join(image_files.record(image, label) for image, label in records))
        for place, (image, label) in enumerate(records):
            file = self.folder / f"test/{label}/{place:04}.png"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(image)
        return [label for _, label in records]

    def test_images_in_archives_and_folders_are_read_as_the_job_has_read_them(self):
        from cnn import build
        job = job_of_images(self.folder)
        labels = self.write_archives()
        job = re.sub(r"data: .*", f"data: {{format: tar, train: {self.folder}/train.tar, eval: {self.folder}/test.tar, "
                     "image: {height: 8, width: 8, channels: 3}}", job)
        checkpoint, said = self.trained(job, "cnn")
        model = capstan_ps.load(checkpoint)
        net = model.torch(build)
        with torch.no_grad():
            batches = [net(batch.images) for batch in model.batches(self.folder / "test.tar")]
        self.assertEqual(max(map(len, batches)), 50, "as large as in training")
        logits = torch.cat(batches)
        self.assertAlmostEqual((logits.argmax(1) == torch.tensor(labels)).double().mean().item(), said["accuracy"], 6)
        self.assertAlmostEqual(torch.nn.functional.cross_entropy(logits.double(), torch.tensor(labels)).item(), said["logloss"], 5)

        # The same images as other formats have them.
        for data_format, path, order in (("TFRECORD", "test.tfrecord", range(600)), ("FOLDER", "test", sorted(range(600), key=lambda i: labels[i]))):
            other = self.of_format(checkpoint, data_format)
            with torch.no_grad():
                found = torch.cat([net(batch.images) for batch in other.batches(self.folder / path)])
            self.assertTrue(torch.allclose(found, logits[list(order)], atol=1e-5), data_format)

        # Colours are channels, wherever in the image they stand.
        pixels = bytes((7 * y + 3 * x + 50 * channel) % 256 for y in range(8) for x in range(8) for channel in range(3))
        (self.folder / "colours/0").mkdir(parents=True)
        (self.folder / "colours/0/one.png").write_bytes(image_files.idx_to_tar.png(8, 8, pixels))
        batch, = self.of_format(checkpoint, "FOLDER").batches(self.folder / "colours")
        expected = torch.tensor(list(pixels), dtype=torch.float32).view(8, 8, 3).permute(2, 0, 1)
        shown = batch.images[0] - batch.images[0].min()
        self.assertEqual(tuple(batch.images.shape), (1, 3, 8, 8))
        self.assertTrue(torch.allclose(shown / shown.max(), expected / expected.max(), atol=1e-5))

        # What is damaged, or not there, is named.
        (self.folder / "bad.tar").write_bytes((self.folder / "test.tar").read_bytes().replace(b"IDAT", b"iDAT", 3))
        with self.assertRaisesRegex(ValueError, r"bad\.tar"):
            list(model.batches(self.folder / "bad.tar"))
        with self.assertRaisesRegex(ValueError, "nowhere.tar"):
            list(model.batches(self.folder / "nowhere.tar"))

    def write_likes_as_parquet(self, name):
        """Beside name.csv, the same rows: what one has clicked is a list of numbers."""
        _, *rows = csv.reader((self.folder / f"{name}.csv").read_text().splitlines())
        liked, item, clicked, user, price, city, _ = zip(*rows)
        lists = [list(map(int, filter(None, texts.split("|")))) for texts in clicked]
        numbers = {"liked": liked, "item": item, "user_id": user}
        columns = {column: Column(column, "int64", list(map(int, values))) for column, values in numbers.items()}
        parquet_writer.write(self.folder / f"{name}.parquet", [
            columns["liked"], columns["item"], Column("clicked", "int64", lists=lists), columns["user_id"],
            Column("price", "double", list(map(float, price))), Column("city", "text", [text.encode() for text in city]),
            Column("two", "int64", [2] * len(rows))])

    def test_parquet_files_are_read_as_the_job_has_read_them(self):
        from recommender import Recommender
        for name, count, seed in (("train", 1000, 1), ("test", 500, 2)):
            write_likes(self.folder / f"{name}.csv", count, seed)
            self.write_likes_as_parquet(name)
        test, cities = self.folder / "test.parquet", self.folder / "cities.txt"
        cities.write_text("Rom\nUri\n")
        job = (LIKES % (self.folder / "train.parquet", test)).replace("format: csv\n  header: true", "format: parquet").replace(
            "{column: city}", f"{{column: city, kind: vocabulary, file: {cities}, unknown: 2}}").replace("epochs: 6", "epochs: 1")
        checkpoint, said = self.trained(job, "recommender")
        code, told = run_to_end("capstan", "checkpoint", "export", checkpoint, self.folder / "exported")
        self.assertEqual(code, 0, told)
        cities.unlink()  # The model has a copy of it.
        model = capstan_ps.load(self.folder / "exported")
        net = model.torch(Recommender)
        found = self.scores(model, net, test)
        labels = [float(line.partition(",")[0]) for line in (self.folder / "test.csv").read_text().splitlines()[1:]]
        self.assertAlmostEqual(logloss(found.sigmoid().tolist(), labels), said["logloss"], 6)
        self.assertTrue(torch.allclose(self.scores(model, net, self.folder / "test.csv"), found, atol=1e-6), "a csv with a line of names")
        pipe = self.folder / "pipe.csv"
        os.mkfifo(pipe)
        writer = threading.Thread(target=lambda: pipe.write_bytes((self.folder / "test.csv").read_bytes()))
        writer.start()
        self.assertTrue(torch.allclose(self.scores(model, net, pipe), found, atol=1e-6), "a csv that can be read only once")
        writer.join()
        program = ("--program", EXAMPLES / "recommender.py")
        done = subprocess.run([sys.executable, "-m", "capstan_ps.predict", self.folder / "exported", f"{self.folder}/te*.parquet", *program],
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        for line, score_of in zip(done.stdout.splitlines(), found.sigmoid().tolist(), strict=True):
            self.assertAlmostEqual(float(line), score_of, 6)

        # What does not fit is named.
        with self.assertRaisesRegex(ValueError, "nowhere.parquet"):
            list(model.batches(self.folder / "nowhere.parquet"))
        test.write_bytes(test.read_bytes()[:-100])
        with self.assertRaisesRegex(ValueError, r"test\.parquet"):
            list(model.batches(test))

    def of_format(self, checkpoint, data_format):
        """The model as that of a job on images in another format."""
        folder = self.folder / data_format
        code, said = run_to_end("capstan", "checkpoint", "export", checkpoint, folder)
        self.assertEqual(code, 0, said)
        job = folder / "job.json"
        job.write_text(job.read_text().replace("DATA_FORMAT_TAR", f"DATA_FORMAT_{data_format}"))
        return capstan_ps.load(folder)

    def test_what_is_no_model_is_told(self):
        with self.assertRaisesRegex(ValueError, "nothing-here"):
            capstan_ps.load(self.folder / "nothing-here")
        os.environ["CAPSTAN"], path = "", os.environ["PATH"]
        os.environ["PATH"] = str(self.folder)
        self.addCleanup(os.environ.__setitem__, "PATH", path)
        with self.assertRaisesRegex(FileNotFoundError, "the command `capstan` is needed"):
            capstan_ps.load(self.folder)


if __name__ == "__main__":
    unittest.main(verbosity=2)
