"""The tasks, pushes, checkpoints and returns to them of an asynchronous job, of all its partitions, in the words of
ExactlyOnce.tla."""

from collections import defaultdict

from traces.telling import Step, Unlike

MOST_BATCHES = 200  # What TLC replays in some seconds. The trace is told up to the first push of one more.


def is_tasks(events):
    """Whether a job with these events is to be told so: its tasks are leased, and its partitions stay where they are."""
    views = views_of(events)
    stay = all(view["owners"] == views[0]["owners"] and not view.get("pairs") and not view.get("moves") for view in views)
    return stay and any(event["event"] == "leased" for event in events)


def views_of(events):
    return [event["view"] for event in events if event["event"] == "view" and event["view"].get("owners")]


def batches(text):
    """Of "41:7 42:0": stream -> batches."""
    return {int(stream): int(count) for stream, count in (each.split(":") for each in text.split())}


def named(push):
    """Stream and batch."""
    stream, seq = push.split(":")
    return int(stream), int(seq)


class ExactlyOnceTelling:
    model = "ExactlyOnce"

    def __init__(self, events):
        self.steps = []
        self.partitions = len(views_of(events)[0]["owners"])
        events = self.as_many_as_can_be_told(events)
        self.tasks = {}                  # Stream -> the model's task.
        for event in events:
            if event["event"] == "leased":
                self.tasks.setdefault(event["stream"], len(self.tasks) + 1)
        self.lengths = self.lengths_of(events)
        self.timelines = []              # Real ones, in their order; the model's count from 1.
        self.leases = {}                 # (stream, generation) -> the model's lease.
        self.latest = {}                 # Stream -> the latest lease.
        self.progress = defaultdict(int)  # Stream -> batches, as the chief knows of them.
        self.entering = None             # (timeline, progress): nobody may hear of it before it is stored.
        self.storing = None              # What is being stored: whether it is of the timeline that is entered; progress.
        self.recording = None            # The checkpoint under way, and its progress.
        self.saved = ("", {})            # The last one.
        self.loaded = {}                 # Partition -> timeline.
        self.closing = set()
        self.finished = False
        for event in events:
            tell = getattr(self, "on_" + event["event"], None)
            if tell and (self.timelines or event["event"] == "entered"):
                tell(event)

    def as_many_as_can_be_told(self, events):
        seen = set()
        for place, event in enumerate(events):
            if event["event"] == "pushed":
                seen.add(event["push"])
                if len(seen) > MOST_BATCHES:
                    return events[:place]
        return events

    def lengths_of(self, events):
        """How many batches each task has: what its close says. One whose close is not told has more than are pushed."""
        pushed = [named(event["push"]) for event in events if event["event"] == "pushed"]
        lengths = {stream: max((seq + 2 for of, seq in pushed if of == stream), default=1) for stream in self.tasks}
        for event in events:
            if event["event"] == "closing":
                lengths.update(batches(event["streams"]))
        return lengths

    # ---- names ----

    def task(self, event, stream):
        if stream not in self.tasks:
            raise Unlike(f"{event['where']}: nobody has leased the task of stream {stream}, as far as the trace says")
        return self.tasks[stream]

    def lease(self, event, stream):
        number = self.leases.get((stream, event["generation"]))
        if number is None:
            raise Unlike(f"{event['where']}: no lease of stream {stream} has generation {event['generation']}")
        return number

    def all_of(self, progress):
        """Of each task, in the order of the model."""
        return tuple(progress.get(stream, 0) for stream in self.tasks)

    def add(self, event, action, **values):
        self.steps.append(Step(event, action, **values))

    # ---- the chief's events ----

    def on_entered(self, event):
        timeline, stands = event["timeline"], batches(event["open"])
        if not self.timelines:
            if event["begun"] > 0:
                raise Unlike(f"{event['where']}: the job begins with tasks that were begun before the trace")
            self.timelines.append(timeline)
            return
        self.progress = defaultdict(int, {**self.saved[1], **stands})
        self.recording = None
        self.entering = timeline, dict(self.progress)

    def on_storing(self, event):
        self.storing = self.entering is not None, {**self.progress, **batches(event["open"])}

    def on_stored(self, event):
        if self.storing is None:
            return
        (entered, progress), self.storing = self.storing, None
        if entered and self.entering:
            timeline, returned = self.entering
            self.entering = None
            self.timelines.append(timeline)
            self.add(event, "timeline", tl=len(self.timelines), prog=self.all_of(returned))
        self.add(event, "store", prog=self.all_of(progress))

    def on_leased(self, event):
        stream, begins_with = event["stream"], event["first"]
        task, latest = self.task(event, stream), self.latest.get(stream)
        number = latest + 1 if latest else 1 if len(self.timelines) == 1 else 2
        self.latest[stream] = self.leases[stream, event["generation"]] = number
        if number > 1:  # The model begins with the first one.
            self.add(event, "lease", t=task, l=number, q=begins_with)

    def on_reported(self, event):
        stream = event["stream"]
        self.progress[stream] = event["batches"]
        self.add(event, "report", t=self.task(event, stream), l=self.lease(event, stream), q=event["batches"])

    def on_done(self, event):
        stream = event["stream"]
        if self.progress[stream] < self.lengths[stream]:
            self.on_reported({**event, "batches": self.lengths[stream]})

    def on_closing(self, event):
        for stream, count in batches(event["streams"]).items():
            name = stream, len(self.timelines)
            if name not in self.closing:
                self.closing.add(name)
                self.add(event, "send close", t=self.task(event, stream), q=count)

    def on_recorded(self, event):
        if self.recording:
            self.add(event, "give up")
        self.recording = event["checkpoint"], dict(self.progress)
        self.add(event, "record")

    def on_saved(self, event):
        if not self.recording or self.recording[0] != event["checkpoint"]:
            return  # It has been given up meanwhile.
        self.saved = self.recording[0], {**self.recording[1], **batches(event["open"])}
        self.recording = None
        self.add(event, "manifest", prog=self.all_of(self.saved[1]))

    def on_view(self, event):
        """The job ends, in the model's words: all is done, stored and closed, and its model is about to be saved."""
        if event["view"].get("state") == "JOB_STATE_CHECKPOINTING" and not self.finished:
            self.finished = True
            self.add(event, "finish")

    # ---- a partition's events ----

    def on_pushed(self, event):
        stream, seq = named(event["push"])
        self.add(event, "push", t=self.task(event, stream), l=self.lease(event, stream), q=seq, p=event["partition"] + 1,
                 low=event["low"], again=event["again"])

    def on_shut(self, event):
        self.add(event, "close", t=self.task(event, event["stream"]), p=event["partition"] + 1, q=event["batches"])

    def on_marked(self, event):
        if self.recording and self.recording[0] == event["checkpoint"]:
            self.add(event, "clone", p=event["partition"] + 1)

    def on_loaded(self, event):
        partition, timeline = event["partition"], event["timeline"]
        if self.loaded.get(partition) == timeline:
            raise Unlike(f"{event['where']}: partition {partition} comes back alone, which is not replayed")
        self.loaded[partition] = timeline
        if timeline == self.timelines[0]:
            return
        if timeline not in self.timelines or event["checkpoint"] != self.saved[0]:
            raise Unlike(f"{event['where']}: partition {partition} begins timeline {timeline} with checkpoint "
                         f"{event['checkpoint'] or 'none'}; the last one is {self.saved[0] or 'none'}")
        self.add(event, "restore", p=partition + 1, tl=self.timelines.index(timeline) + 1)

    # ---- what TLC reads ----

    def summary(self):
        return f"{len(self.steps)} steps, {len(self.tasks)} tasks, {len(self.timelines)} timelines"

    def module(self):
        """TraceData.tla."""
        steps = ",\n  ".join(step.tla() for step in self.steps)
        lengths = ", ".join(str(self.lengths[stream]) for stream in self.tasks)
        return ("------------------------------ MODULE TraceData ------------------------------\n"
                "EXTENDS Naturals, Sequences\n"
                f"PartitionSet == 1..{self.partitions}\n"
                f"BatchCounts == <<{lengths}>>\n"
                f"LeaseCount == {max(self.latest.values()) + len(self.timelines)}\n"
                f"TimelineCount == {len(self.timelines)}\n"
                f"Trace == <<\n  {steps}>>\n"
                "=============================================================================\n")
