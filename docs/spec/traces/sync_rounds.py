"""The rounds of a synchronous job, of all its partitions and their coordinator, in the words of SyncRounds.tla. The
model's shards are the partitions, for each has its own gradients and passes rounds by itself."""

import math

from traces.telling import Step, Unlike

MOST_LANES = 3    # That the model has.
MOST_ROUNDS = 40  # What TLC replays in some seconds.


def is_sync(events):
    return any(event["event"] == "coordinates" for event in events)


def runner(event):
    """Whoever computes a lane under one lease: lane and generation."""
    return int(event["lane"]), (int(event["term"]), int(event["count"]))


def runners(text):
    """Of "0:1.4 2:1.7"."""
    for name in text.split():
        lane, generation = name.split(":")
        term, count = generation.split(".")
        yield int(lane), (int(term), int(count))


class SyncRoundsTelling:
    model = "SyncRounds"

    def __init__(self, events):
        self.events = events
        self.steps = []
        self.generations = {}  # Lane -> those that a round was opened to, in their order.
        self.opened = set()    # (runner, round)
        self.said = set()      # What processes say again, with nothing new in it.
        self.staged = {}       # (partition, lane) -> (generation, round), the last.
        self.pulled = set()    # (runner, round, partition)
        self.closed = []       # The lanes of each round.
        self.ended = set()
        self.coordinator = self.only_coordinator()
        self.partitions = self.only_map()
        self.trainers, self.first_stage = {}, {}
        for event in events:
            if event["event"] == "staged":
                self.trainers[runner(event)] = event["trainer"]
                self.first_stage.setdefault((runner(event), event["round"]), event["at"])
        for event in events:
            tell = getattr(self, "on_" + event["event"], None)
            if tell and len(self.closed) < MOST_ROUNDS:
                tell(event)

    # ---- what the model is not about ----

    def only_coordinator(self):
        first, *more = (event for event in self.events if event["event"] == "coordinates")
        if more or first["closed"] > 0:
            begins = (more or [first])[0]
            raise Unlike(f"{begins['where']}: the coordinator begins after round {begins['closed']}; "
                         "only rounds that one coordinator has opened, from the first on, are modelled")
        if first["lanes"] > MOST_LANES:
            raise Unlike(f"{first['where']}: the job has {first['lanes']} lanes; only {MOST_LANES} are modelled")
        return first

    def only_map(self):
        views = [event for event in self.events if event["event"] == "view" and event["view"].get("owners")]
        for event in views:
            view, first = event["view"], views[0]["view"]
            if view.get("pairs") or view["owners"] != first["owners"]:
                raise Unlike(f"{event['where']}: partitions have backups, or move; the rounds of neither are replayed")
        return len(views[0]["view"]["owners"])

    # ---- names ----

    def named(self, lane, generation):
        """The model's lane, and the number of its runner."""
        known = self.generations.get(lane, [])
        if generation not in known:
            raise Unlike(f"no round was opened to generation {generation} of lane {lane}, which is in the trace")
        return lane + 1, known.index(generation) + 1

    def names(self, text):
        return frozenset(self.named(*each) for each in runners(text))

    def once(self, *what):
        if what in self.said:
            return False
        self.said.add(what)
        return True

    def add(self, event, action, **values):
        self.steps.append(Step(event, action, **values))

    def add_of_lane(self, event, action, **values):
        lane, number = self.named(*runner(event))
        self.add(event, action, l=lane, g=number, r=event["round"], **values)

    # ---- the coordinator's events ----

    def on_opened(self, event):
        lane, generation = runner(event)
        known = self.generations.setdefault(lane, [])
        if generation not in known:
            if known and generation < known[-1]:
                raise Unlike(f"{event['where']}: a round is opened to a runner after one of a later lease had it")
            known.append(generation)
            if len(known) > 1:
                self.add(event, "lease", l=lane + 1, g=len(known))
        if self.once("opened", runner(event), event["round"]):
            self.opened.add((runner(event), event["round"]))
            self.add_of_lane(event, "begin")

    def on_counted(self, event):
        if self.once("counted", runner(event), event["round"]):
            self.add_of_lane(event, "report")

    def on_ended(self, event):
        if self.once("ended", event["lane"]):
            self.ended.add(event["lane"])
            self.add_of_lane(event, "end")

    def on_closed(self, event):
        self.closed.append({lane for lane, _ in runners(event["lanes"])})
        self.add(event, "close", r=event["round"], set=self.names(event["lanes"]))

    # ---- a partition's events ----

    def on_pulled(self, event):
        """A pull names its trainer, which may hold several lanes: it is that of the lane which stages next. One that is
        left over is a pull that was sent again."""
        partition, number = event["partition"], event["round"]
        def deadline(who):
            return self.first_stage.get((who, number), math.inf)
        waiting = [who for who, opened in self.opened
                   if opened == number and self.trainers.get(who) == event["trainer"] and
                   deadline(who) > event["at"] and (who, number, partition) not in self.pulled]
        if waiting:
            who = min(waiting, key=lambda who: (deadline(who), who))
            self.pulled.add((who, number, partition))
            lane, runs = self.named(*who)
            self.add(event, "pull", l=lane, g=runs, s=partition + 1, r=number, n=event["passed"])

    def on_staged(self, event):
        lane, generation = runner(event)
        now = generation, event["round"]
        if self.staged.get((event["partition"], lane)) != now:
            self.staged[event["partition"], lane] = now
            self.add_of_lane(event, "stage", s=event["partition"] + 1)

    def on_added(self, event):
        """A job whose dense and sparse parts are both synchronous says it of each."""
        if self.once("added", runner(event), event["round"], event["partition"]):
            self.add_of_lane(event, "add", s=event["partition"] + 1)

    def on_passed(self, event):
        self.add(event, "hear", s=event["partition"] + 1, r=event["round"], set=self.names(event["lanes"]),
                 n=event["gradients"])

    # ---- what TLC reads ----

    def batches(self, lane):
        """Of a lane: as many as rounds that hold it, and of one whose end is not told there are more."""
        return sum(lane in lanes for lanes in self.closed) + (lane < self.coordinator["lanes"] and lane not in self.ended)

    def summary(self):
        return f"{len(self.steps)} steps, {len(self.closed)} rounds"

    def module(self):
        """TraceData.tla."""
        steps = ",\n  ".join(step.tla() for step in self.steps)
        data = "\n".join(f"Data{lane + 1} == {self.batches(lane)}" for lane in range(MOST_LANES))
        return ("------------------------------ MODULE TraceData ------------------------------\n"
                "EXTENDS Naturals, Sequences\n"
                f"LaneCount == {self.coordinator['lanes']}\n"
                f"BackupCount == {self.coordinator['backup_workers']}\n"
                f"ShardCount == {self.partitions}\n"
                f"LeaseCount == {max(len(known) for known in self.generations.values())}\n"
                f"{data}\n"
                f"Trace == <<\n  {steps}>>\n"
                "=============================================================================\n")
