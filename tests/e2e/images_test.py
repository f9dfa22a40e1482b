"""Images as idx, as PNGs in tar, in TFRecord and in folders train the same model bit for bit; `capstan evaluate` and `predict`
read them all; a damaged one is named. Many lanes of images take the memory of a worker that is planned for them."""

import io
import json
import pathlib
import random
import re
import sys
import tarfile
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from crew import Crew, run_to_end
from image_files import write_class

CLASSES, IMAGES, SIDE = 8, 40, 12
LANES = 64
# Small images that are brought to a size at which a batch is 3.1 MB: were each lane to cut two more than it has ready, they were 400 MB.
LARGE, LANE_BATCH = 128, 16


def pictures(seed, of, count):
    """Noise with a bright row at the place of the class."""
    draw = random.Random(seed * CLASSES + of)
    for _ in range(count):
        yield bytes(min(255, draw.randrange(90) + (120 if y == of else 0)) for y in range(SIDE) for _ in range(SIDE))


class ImagesTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.folder = pathlib.Path(cls.scratch.name)
        for split, seed, count in (("train", 1, IMAGES), ("eval", 2, 5)):
            for of in range(CLASSES):
                write_class(cls.folder / split, of, SIDE, list(pictures(seed, of, count)))

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def names(self, split, kind):
        return f"{self.folder}/{split}/" + {"idx": "*-images-idx3", "tar": "*.tar", "tfrecord": "*.tfrecord",
                                            "folder": "folder"}[kind]

    def train(self, kind, name=None, train=None, *more):
        """Exit code, words, and the folder of the job."""
        run = self.folder / (name or kind)
        run.mkdir()
        image = "" if kind == "idx" else f"  image: {{height: {SIDE}, width: {SIDE}, channels: 1}}\n"
        job = run / "job.yaml"
        job.write_text(f"""
job: images
seed: 5
data:
  format: {kind}
  train: "{train or self.names("train", kind)}"
  eval: "{self.names("eval", kind)}"
{image}  pieces: 1
  task_records: 1000
  task_bytes: 64MiB
model: {{preset: cnn, hidden: [16], outputs: {CLASSES}}}
optimizer: {{dense: {{kind: adam, learning_rate: 0.005}}}}
update: {{dense: {{policy: sync, lanes: 4}}}}
train: {{batch_size: 10, epochs: 4}}
checkpoint: {{uri: {run}/model}}
heartbeat: 200ms
""")
        code, said = run_to_end("capstan", "train", job, "--shards", 1, "--workers", 2, "--run-dir", run / "run", *more,
                                timeout=60)
        saved = sorted(run.glob("model/**/MANIFEST.json"))
        return code, said, saved[-1].parent if saved else None

    def test_every_format_trains_the_same_model_bit_for_bit(self):
        models = {}
        for kind in ("idx", "tar", "tfrecord", "folder"):
            code, said, models[kind] = self.train(kind)
            self.assertEqual(code, 0, said)
        scores = {}
        for kind, model in models.items():
            if kind != "idx":
                code, said = run_to_end("capstan", "checkpoint", "diff", models["idx"], model)
                self.assertEqual(code, 0, said)
                rows = [line.split() for line in said.splitlines()[1:]]
                self.assertGreater(len(rows), 2, said)
                self.assertEqual({(changed, added, removed) for _, _, _, changed, added, removed, *_ in rows},
                                 {("0", "0", "0")}, said)
            code, said = run_to_end("capstan", "predict", model)
            self.assertEqual((code, len(said.splitlines())), (0, CLASSES * 5))
            scores[kind] = [float(share) for line in said.splitlines() for share in line.split(",")]
            code, said = run_to_end("capstan", "evaluate", model)
            self.assertEqual(code, 0, said)
            self.assertRegex(said, rf"^{CLASSES * 5} examples .* accuracy (0\.[5-9]|1)")  # By chance it were 1 of 8.
        for kind, found in scores.items():
            for one, other in zip(found, scores["idx"], strict=True):
                self.assertAlmostEqual(one, other, delta=1e-6, msg=f"{kind}: batches may be cut elsewhere, and sums have another order")

    def test_a_damaged_image_ends_the_job_with_its_place_or_is_counted(self):
        with tarfile.open(self.folder / "train/3.tar") as good:
            images = [good.extractfile(member).read() for member in good if member.name.endswith(".png")]
        damaged = self.folder / "damaged.tar"
        with tarfile.open(damaged, "w") as tar:
            for i, image in enumerate(images):
                content = image[:len(image) // 2] if i == 30 else image
                for name, text in ((f"{i:05}.png", content), (f"{i:05}.cls", b"3")):
                    member = tarfile.TarInfo(name)
                    member.size = len(text)
                    tar.addfile(member, io.BytesIO(text))
        code, said, model = self.train("tar", "refused", damaged)
        self.assertEqual(code, 2, said)
        self.assertRegex(said, rf'{damaged}: sample "00030" at byte \d+: PNG: ')
        self.assertIsNone(model)
        code, said, _ = self.train("tar", "counted", damaged, "--set", "data.max_bad_records=1")
        self.assertEqual(code, 0, said)
        self.assertRegex(said, r"\b1 bad record\b")

    def test_config_check_looks_at_images(self):
        text = self.folder / "not-a.tar"
        text.write_text("some text\n" * 100)
        job = self.folder / "check.yaml"
        job.write_text(f"job: a\ndata: {{format: tar, train: {text}, image: {{height: 8, width: 8}}}}\n"
                       "model: {preset: softmax, outputs: 2}\n")
        code, said = run_to_end("capstan", "config", "check", job)
        self.assertEqual(code, 2, said)
        self.assertIn(f"{text}: byte 0: expected the header of a tar's member (ustar)", said)

    def test_64_lanes_of_images_on_one_worker_take_what_is_planned(self):
        images = self.folder / "lanes"
        for of in range(CLASSES):
            write_class(images, of, SIDE, list(pictures(3, of, LANES * LANE_BATCH * 4 // CLASSES)))
        job = f"""
job: lanes
data:
  format: tar
  train: "{images}/*.tar"
  image: {{height: {LARGE}, width: {LARGE}, channels: 3}}
  task_bytes: 128KiB
  pieces: 1
model: {{preset: softmax, outputs: {CLASSES}}}
optimizer: {{dense: {{kind: sgd, learning_rate: 0.001}}}}
update: {{dense: {{policy: sync, lanes: {LANES}}}}}
train: {{batch_size: {LANE_BATCH}, epochs: 3}}
heartbeat: 200ms
"""
        with Crew(job, shards=1, workers=1, name="lanes", exit_when_done=False) as crew:
            code, said = run_to_end("capstan", "plan", crew.job_file, "--workers", 1, "--shards", 1, "--step-seconds", 0.1, "--json")
            self.assertEqual(code, 0, said)
            planned = json.loads(said)["worker_bytes"]
            crew.until_state("COMPLETED", timeout=120)
            status = pathlib.Path(f"/proc/{crew.processes['worker-0'].pid}/status").read_text()
        held = int(re.search(r"VmHWM:\s*(\d+)", status).group(1)) << 10
        print(f"{LANES} lanes: {held >> 20} MiB at the most, {planned >> 20} planned", flush=True)
        self.assertLess(held, planned)


if __name__ == "__main__":
    unittest.main(verbosity=2)
