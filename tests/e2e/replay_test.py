"""What real processes do is what the model of replicas says: a chief and three shards write traces while one shard is killed
and another one leaves, and docs/spec/replay finds each step of each partition among the model's. A trace in which one event
is false is refused."""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from ledger_case import LedgerCase, RECORDS

SPEC = pathlib.Path(__file__).resolve().parents[2] / "docs" / "spec"
PARTITIONS = 4
SHARDS = 3
SLOW = 100  # Milliseconds a step.
BATCH = 20  # Each push touches every partition: so many pushes as the model can hold.
MORE = 1200  # Examples that are trained before something happens.


def replay(folder, *partitions):
    return subprocess.run([SPEC / "replay", folder, *(word for each in partitions for word in ("--partition", str(each)))],
                          capture_output=True, text=True)


class ReplayTest(LedgerCase):

    def until_paired(self, crew, shards):
        def paired():
            status = crew.status()
            owning = [shard for shard in status.shards if shard.partitions > 0]
            return (status.replicas.paired == PARTITIONS and not status.moves.under_way and len(owning) >= shards)
        crew.until(paired, "a backup of each partition", 40)

    def run_with_traces(self, folder):
        crew = self.crew("async", every=None, epochs=1, batch=BATCH, shards=SHARDS, workers=2, pace=SLOW,
                         overrides=["replicas=1", "shard_lease=1s", f"partition_count={PARTITIONS}"])
        for name in ("chief", *(f"ps-{index}" for index in range(SHARDS))):
            crew.environment[name] = {"CAPSTAN_TRACE": str(folder / f"{name}.trace")}
        with crew:
            self.until_paired(crew, SHARDS)
            crew.until_examples(crew.status().examples + MORE)
            crew.kill("ps-1")
            crew.until(lambda: crew.status().replicas.promotions == 1, "a promotion", 20)
            self.until_paired(crew, SHARDS - 1)
            crew.until_examples(crew.status().examples + MORE)
            crew.processes["ps-2"].terminate()  # What it owns is handed over.
            self.assertEqual(crew.processes["ps-2"].wait(30), 0)
            self.finish(crew)
            self.assertEqual(crew.wait(120).examples, RECORDS)

    def test_a_real_run_is_one_of_the_models(self):
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            self.run_with_traces(folder)
            done = replay(folder)
            print(done.stdout, file=sys.stderr)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.falsify(folder)

    def falsify(self, folder):
        """Of one push, what its backup did goes: then nobody may have been answered."""
        traces = {path: path.read_text().splitlines() for path in folder.glob("ps-*.trace")}
        replayed = [(path, place, json.loads(line)) for path, lines in traces.items()
                    for place, line in enumerate(lines) if '"event":"replayed"' in line]
        path, place, event = replayed[len(replayed) // 2]
        with tempfile.TemporaryDirectory() as name:
            copy = pathlib.Path(name)
            for other in folder.glob("*.trace"):
                shutil.copy(other, copy)
            lines = traces[path]
            (copy / path.name).write_text("\n".join(lines[:place] + lines[place + 1:]) + "\n")
            done = replay(copy, event["partition"])
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn("the model cannot do this here: answer", done.stdout)


if __name__ == "__main__":
    if lack := subprocess.run([SPEC / "checker"], stdout=subprocess.DEVNULL).returncode:
        sys.exit(lack)
    unittest.main()
