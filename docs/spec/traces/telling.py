"""The events of one partition in the words of a model: what the tellings of all models have in common."""

from traces.events import Projection, epoch

MOST_PUSHES = 400  # What TLC replays in some seconds.
FIRST_EPOCH = 100  # Of the model's first view.


class Unlike(Exception):
    """The trace is of no run that the model is about."""


class Step(dict):
    """A step of the model, and the event of the trace that it stands for."""

    def __init__(self, event, action, **values):
        super().__init__(a=action, **values)
        self.event = event

    @staticmethod
    def value(of):
        if isinstance(of, frozenset):
            return "{" + ", ".join(f"<<{', '.join(map(str, each))}>>" for each in sorted(of)) + "}"
        if isinstance(of, tuple):
            return f"<<{', '.join(map(str, of))}>>"
        return f'"{of}"' if isinstance(of, str) else str(of)

    def tla(self):
        return "[" + ", ".join(f"{key} |-> {self.value(of)}" for key, of in self.items()) + "]"

    def __str__(self):
        return ", ".join([self["a"], *(f"{key} {self.value(of)}" for key, of in self.items() if key != "a")])


class Telling:
    """What happened to one partition, step by step. A subclass says what follows from a view that differs from the one
    before (`differences`), which step an event of the partition is (`on_partition`), and names its model (`model`)."""

    model = None

    def __init__(self, events, partition):
        self.partition = partition
        self.steps = []
        self.pushes = {}
        self.incarnations = {}  # Shard -> real ones, in the order in which they came.
        self.crashed = {}       # Shard -> how often, as far as it has been told.
        self.model_epoch = FIRST_EPOCH
        self.by_epoch = []      # (real epoch, the model's), ascending.
        self.seen = {}          # Shard -> the model's epoch.
        self.heard = {}         # Shard -> real epoch of the view that it follows.
        self.last = None        # The projection published last.
        self.first = None
        for event in events:
            if len(self.pushes) == MOST_PUSHES and event["event"] == "pushed" and event.get("push") not in self.pushes:
                break
            self.tell(event)

    # ---- what a subclass fills in ----

    def differences(self, event, before, now):
        """Tells what the chief must have decided between the two views."""
        raise NotImplementedError

    def published(self, now):
        """What the view says, as the model's step "publish" names it."""
        raise NotImplementedError

    def on_partition(self, event, index):
        """Tells what the shard says of the partition."""
        raise NotImplementedError

    # ---- names ----

    def shard(self, index):
        return index + 1

    def incarnation(self, index, real):
        known = self.incarnations.setdefault(index, [])
        if real not in known:
            known.append(real)
        return known.index(real) + 1

    def push(self, name):
        return self.pushes.setdefault(name, len(self.pushes) + 1)

    def add(self, event, action, **values):
        self.steps.append(Step(event, action, **values))

    def decide(self, event, action, **values):
        self.model_epoch += 1
        self.add(event, action, **values)

    # ---- events ----

    def tell(self, event):
        kind = event["event"]
        if kind == "view":
            if event["view"].get("owners"):
                self.on_view(event, Projection(event["view"], self.partition))
            return
        if self.first is None or not event["by"].startswith("ps-"):
            return
        index = int(event["by"].removeprefix("ps-"))
        if kind == "follows":
            self.on_follows(event, index)
        elif int(event["partition"]) == self.partition:
            self.on_partition(event, index)

    def on_view(self, event, now):
        before, self.last = self.last, now
        self.incarnation(now.owner, now.owner_incarnation)
        if before is None:
            self.first = now
            self.by_epoch.append((now.epoch, self.model_epoch))
            return
        if now.timeline != before.timeline:
            raise Unlike(f"{event['where']}: timeline {now.timeline} begins; a return to a checkpoint is not modelled")
        if now.epoch[0] != before.epoch[0]:
            raise Unlike(f"{event['where']}: another chief; give traces of one")
        count = len(self.steps)
        self.differences(event, before, now)
        if len(self.steps) == count:
            return
        self.by_epoch.append((now.epoch, self.model_epoch))
        self.add(event, "publish", **self.published(now))

    def on_follows(self, event, index):
        real = int(event["incarnation"])
        if self.crash_before(event, index, real) < self.incarnation(index, self.incarnations[index][-1]):
            raise Unlike(f"{event['where']}: a process that was replaced goes on")
        self.heard[index] = epoch(event)

    def crash_before(self, event, index, real):
        """The incarnation in the model's words; those before it have died by now."""
        life = self.incarnation(index, real)
        while self.crashed.get(index, 0) < life - 1:
            self.crashed[index] = self.crashed.get(index, 0) + 1
            self.seen[index] = 0
            self.add(event, "crash", s=self.shard(index))
        return life

    def learn(self, event, index):
        """The shard goes by the view that it follows, as far as that one says anything of this partition."""
        newest = max((model for real, model in self.by_epoch if real <= self.heard.get(index, (0, 0))), default=0)
        if newest > self.seen.get(index, FIRST_EPOCH):
            self.seen[index] = newest
            self.add(event, "learn", s=self.shard(index), e=newest)

    def summary(self):
        return f"{len(self.steps)} steps, {len(self.pushes)} pushes"

    def module(self):
        """TraceData.tla."""
        steps = ",\n  ".join(step.tla() for step in self.steps)
        return ("------------------------------ MODULE TraceData ------------------------------\n"
                "EXTENDS Naturals, Sequences\n"
                f"PushCount == {max(1, len(self.pushes))}\n"
                f"ShardCount == {max(2, *(index + 1 for index in self.incarnations))}\n"
                f"Owner == {self.shard(self.first.owner)}\n"
                f"Trace == <<\n  {steps}>>\n"
                "=============================================================================\n")
