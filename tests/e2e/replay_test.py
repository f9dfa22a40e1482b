"""What real processes do is what the models say. With replicas: a chief and three shards write traces while one shard is killed
and another one leaves. Without: partitions move to a shard that joins and back when it leaves, while a worker dies, whose
pushes are sent again. Of a synchronous job: rounds, while a worker dies that has staged a gradient. Of tasks: a worker dies
whose last pushes nobody has reported, a checkpoint is taken, and a shard dies, so that all return to it. docs/spec/replay
finds each step of each partition among the model's, and refuses a trace in which one event is false."""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from crew import chief_pb2, has_failpoints
from ledger_case import LedgerCase, RECORDS

SPEC = pathlib.Path(__file__).resolve().parents[2] / "docs" / "spec"
PARTITIONS = 4
SHARDS = 3
SLOW = 100  # Milliseconds a step.
BATCH = 20  # Each push touches every partition: so many pushes as the model can hold.
MORE = 1200  # Examples that are trained before something happens.
WHOLE = 200  # A lane's batch: a whole task, some records of which are in every partition.
FEW = 50  # Records of a batch where tasks are told, about four of which are a task.
ALL = "all"  # The partitions of a synchronous job, or of one whose tasks are told, which are replayed together.


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

    def traced(self, folder, shards, policy="async", **settings):
        """A crew whose chief and shards 0 to 2 write traces."""
        crew = self.crew(policy, every=None, epochs=1, shards=shards,
                         **{"batch": BATCH, "workers": 2, "pace": SLOW, **settings})
        for name in ("chief", "ps-0", "ps-1", "ps-2"):
            crew.environment[name] = {"CAPSTAN_TRACE": str(folder / f"{name}.trace")}
        return crew

    def check_replay(self, folder):
        done = replay(folder)
        print(done.stdout, file=sys.stderr)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return done.stdout

    def check_refusal(self, folder, falsify, what, of="ps-*"):
        """`falsify(events of a shard, or of the process `of`)` changes one of them in place, and gives its partition, or ALL;
        None: this process has none."""
        with tempfile.TemporaryDirectory() as name:
            copy = pathlib.Path(name)
            for path in folder.glob("*.trace"):
                shutil.copy(path, copy)
            partition = None
            for path in sorted(copy.glob(f"{of}.trace")):
                events = [json.loads(line) for line in path.read_text().splitlines()]
                partition = falsify(events)
                if partition is not None:
                    path.write_text("".join(json.dumps(event) + "\n" for event in events))
                    break
            self.assertIsNotNone(partition, f"no process has an event for {falsify.__name__}")
            done = replay(copy, *([] if partition == ALL else [partition]))
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertIn(f"the model cannot do this here: {what}", done.stdout)

    # ---- replicas ----

    def run_replicas(self, folder):
        crew = self.traced(folder, SHARDS, pace=2 * SLOW,
                           overrides=["replicas=1", "shard_lease=1s", f"partition_count={PARTITIONS}"])
        with crew:
            self.until_paired(crew, SHARDS)
            crew.until_examples(crew.status().examples + MORE)
            before = crew.status().replicas.promotions  # A shard that got no processor for its lease was given up, too.
            crew.kill("ps-1")
            crew.until(lambda: crew.status().replicas.promotions == before + 1, "a promotion", 20)
            self.until_paired(crew, SHARDS - 1)
            crew.until_examples(crew.status().examples + MORE)
            crew.processes["ps-2"].terminate()  # What it owns is handed over.
            self.assertEqual(crew.processes["ps-2"].wait(30), 0)
            crew.hurry()
            self.assertEqual(crew.wait(120).examples, RECORDS)

    def test_a_run_with_replicas_is_one_of_the_models(self):
        def forget_what_a_backup_did(events):
            """Then nobody may have been answered."""
            places = [place for place, event in enumerate(events) if event["event"] == "replayed"]
            return events.pop(places[len(places) // 2])["partition"] if places else None

        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            self.run_replicas(folder)
            self.assertIn("as Replicas", self.check_replay(folder))
            self.check_refusal(folder, forget_what_a_backup_did, "answer")

    # ---- moves ----

    def until_owned_by(self, crew, shards):
        def settled():
            status = crew.status()
            return not status.moves.under_way and {each.index for each in status.shards if each.partitions > 0} == shards
        crew.until(settled, f"partitions on {shards}", 30)

    def run_moves(self, folder):
        crew = self.traced(folder, 1, overrides=["worker_lease=3s", f"partition_count={PARTITIONS}"])
        # It dies when it hears that a push is done, which it has told nobody then, at about the time of the move.
        crew.environment["worker-0"] = {"CAPSTAN_FAILPOINTS": "worker.pushed=crash:40"}
        with crew:
            crew.add_shard(1)
            crew.processes["worker-0"].wait(60)  # What it has pushed last another one pushes again.
            crew.environment.pop("worker-0")
            crew.add_worker("worker-0")
            self.until_owned_by(crew, {0, 1})
            crew.until(lambda: crew.status().tasks.expirations > 0, "another runner of its task", 30)
            crew.until_examples(crew.status().examples + MORE // 4)
            crew.processes["ps-1"].terminate()  # All that it owns moves back.
            self.assertEqual(crew.processes["ps-1"].wait(30), 0)
            crew.hurry()
            self.assertEqual(crew.wait(120).examples, RECORDS)

    @unittest.skipUnless(has_failpoints(), "these programs are built without CAPSTAN_FAILPOINTS")
    def test_a_run_in_which_partitions_move_is_one_of_the_models(self):
        def take_a_known_push_for_a_new_one(events):
            """So it is in the parameters twice."""
            for event in events:
                if event["event"] == "pushed" and event["again"]:
                    event["again"] = 0
                    return event["partition"]
            return None

        def take_a_push_while_it_stands_still(events):
            """The target never hears of what its source takes after the freeze."""
            stop = next((event for event in events if event["event"] == "frozen"), None)
            if stop is None:
                return None
            push = next((event for event in events
                         if event["event"] == "pushed" and event["partition"] == stop["partition"]), None)
            self.assertIsNotNone(push, stop)
            events.append({**push, "at": stop["at"] + 1, "again": 1})
            return stop["partition"]

        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            self.run_moves(folder)
            self.assertIn("as Moves", self.check_replay(folder))
            self.check_refusal(folder, take_a_known_push_for_a_new_one, "push")
            self.check_refusal(folder, take_a_push_while_it_stands_still, "push")

    # ---- synchronous rounds ----

    def run_rounds(self, folder):
        crew = self.traced(folder, 2, policy="sync", batch=WHOLE, overrides=[f"partition_count={PARTITIONS}"])
        # It dies in its third round or later, when one shard of two has acknowledged the gradient of a lane.
        crew.environment["worker-0"] = {"CAPSTAN_FAILPOINTS": "worker.pushed=crash:9"}
        with crew:
            crew.processes["worker-0"].wait(60)
            crew.environment.pop("worker-0")
            crew.add_worker("worker-0")
            crew.until(lambda: crew.status().tasks.expirations > 0, "another runner of its lane", 30)
            crew.hurry()
            self.assertEqual(crew.wait(120).examples, RECORDS)

    @unittest.skipUnless(has_failpoints(), "these programs are built without CAPSTAN_FAILPOINTS")
    def test_a_run_of_synchronous_rounds_is_one_of_the_models(self):
        def staged_anew(events):
            """A gradient that a worker has staged before it died, and the one that was staged in its place."""
            before = {}
            for event in events:
                if event["event"] == "staged":
                    place = event["partition"], event["lane"], event["round"]
                    first = before.setdefault(place, event)
                    if first["count"] != event["count"]:
                        return first, event
            return None

        def add_a_gradient_that_is_not_counted(events):
            """The shard cannot take it back when the lane is computed again."""
            if (found := staged_anew(events)) is None:
                return None
            events.append({**found[0], "event": "added", "at": found[0]["at"] + 1})
            return ALL

        def stage_a_gradient_of_an_older_lease(events):
            """It is the new one's that is counted."""
            if (found := staged_anew(events)) is None:
                return None
            events.append({**found[0], "at": found[1]["at"] + 1})
            return ALL

        def commit_a_round_with_another_set(events):
            """So the partitions are of different rounds."""
            event = next(event for event in events if event["event"] == "passed")
            event["lanes"] = event["lanes"].rpartition(" ")[0]
            event["gradients"] -= 1
            return ALL

        def lose_a_gradient(events):
            """It was acknowledged, but the update lacks it."""
            next(event for event in events if event["event"] == "passed")["gradients"] -= 1
            return ALL

        def answer_a_pull_without_the_last_round(events):
            next(event for event in events if event["event"] == "pulled" and event["passed"] > 0)["passed"] -= 1
            return ALL

        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            self.run_rounds(folder)
            self.assertIn("as SyncRounds", self.check_replay(folder))
            self.check_refusal(folder, add_a_gradient_that_is_not_counted, "add")
            self.check_refusal(folder, stage_a_gradient_of_an_older_lease, "stage")
            self.check_refusal(folder, commit_a_round_with_another_set, "hear")
            self.check_refusal(folder, lose_a_gradient, "hear")
            self.check_refusal(folder, answer_a_pull_without_the_last_round, "pull")

    # ---- tasks ----

    def run_tasks(self, folder):
        crew = self.traced(folder, 2, batch=FEW, overrides=["partition_count=2"])
        # It dies when it hears that a push is done, which it has told nobody then.
        crew.environment["worker-0"] = {"CAPSTAN_FAILPOINTS": "worker.pushed=crash:15"}
        with crew:
            crew.processes["worker-0"].wait(60)
            crew.environment.pop("worker-0")
            crew.add_worker("worker-0")
            crew.until(lambda: crew.status().tasks.expirations > 0, "another runner of its task", 30)
            crew.until_examples(crew.status().examples + MORE // 2)
            crew.call("TakeCheckpoint", chief_pb2.TakeCheckpointRequest(), chief_pb2.TakeCheckpointReply)
            crew.until_examples(crew.status().examples + MORE // 2)
            crew.restart_shard(1)
            crew.until(lambda: len(crew.status().losses) == 1, "the return to the checkpoint", 30)
            self.assertNotEqual(crew.status().losses[0].checkpoint, "")
            crew.hurry()
            self.assertEqual(crew.wait(120).examples, RECORDS)

    @unittest.skipUnless(has_failpoints(), "these programs are built without CAPSTAN_FAILPOINTS")
    def test_a_run_of_tasks_that_returns_to_a_checkpoint_is_one_of_the_models(self):
        def pushes(events):
            return [event for event in events if event["event"] == "pushed"]

        def apply_a_push_twice(events):
            for event in pushes(events):
                if event["again"]:
                    event["again"] = 0
                    return ALL
            return None

        def count_a_task_done_of_which_a_batch_is_missing(events):
            """The last one of a task, which one partition has never taken in."""
            names = [event["push"] for event in pushes(events)]
            last = {}
            for name in names:
                stream, seq = name.split(":")
                last[stream] = max(last.get(stream, 0), int(seq))
            for event in pushes(events):
                stream, seq = event["push"].split(":")
                if int(seq) == last[stream] and names.count(event["push"]) == 1:
                    events.remove(event)
                    return ALL
            return None

        def keep_a_push_that_the_return_has_undone(events):
            """Its gradient is not in the parameters of the checkpoint, and nobody pushes it again."""
            timeline = max(event["timeline"] for event in events if event["event"] == "loaded")
            begins = next(event["at"] for event in events if event.get("timeline") == timeline)
            before = {event["push"] for event in pushes(events) if event["at"] < begins}
            for event in pushes(events):
                if event["at"] > begins and event["push"] in before and not event["again"]:
                    event["again"] = 1
                    return ALL
            return None

        def listen_to_an_older_lease(events):
            """The task is another runner's by then."""
            first = {}
            for event in pushes(events):
                before = first.setdefault(event["push"], event)
                if before["generation"] != event["generation"]:
                    events.append({**before, "at": event["at"] + 1, "again": 1})
                    return ALL
            return None

        def close_a_stream_before_its_task_is_stored_as_done(events):
            """The next chief would have it trained again."""
            done = next(event for event in events if event["event"] == "done")
            close = next(event for event in events if event["event"] == "closing")
            stream = str(done["stream"])
            count = next(each for each in close["streams"].split() if each.startswith(stream + ":"))
            events.append({**close, "streams": count, "at": done["at"] + 1})
            return ALL

        def save_a_part_before_the_progress_is_recorded(events):
            """It lacks what was reported in between."""
            next(event for event in events if event["event"] == "marked")["at"] = events[0]["at"]
            return ALL

        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            self.run_tasks(folder)
            self.assertIn("2 timelines: as ExactlyOnce", self.check_replay(folder))
            self.check_refusal(folder, apply_a_push_twice, "push")
            self.check_refusal(folder, count_a_task_done_of_which_a_batch_is_missing, "report")
            self.check_refusal(folder, keep_a_push_that_the_return_has_undone, "push")
            self.check_refusal(folder, listen_to_an_older_lease, "push")
            self.check_refusal(folder, close_a_stream_before_its_task_is_stored_as_done, "send close", of="chief")
            self.check_refusal(folder, save_a_part_before_the_progress_is_recorded, "manifest")


if __name__ == "__main__":
    if lack := subprocess.run([SPEC / "checker"], stdout=subprocess.DEVNULL).returncode:
        sys.exit(lack)
    unittest.main()
