"""What the traces of one job say: its events in the order in which they happened, and what a view says of a partition."""

import json


def read(folder):
    events = []
    for path in sorted(folder.glob("*.trace")):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            try:
                event = json.loads(line)
            except ValueError:
                continue  # The last one of a process that was killed.
            event["where"] = f"{path.name}:{number}"
            if event["event"] == "view":
                event["view"] = json.loads(event["view"])
            events.append(event)
    return sorted(events, key=lambda event: event["at"])


def epoch(of):
    return int(of.get("term", 0)), int(of.get("n", 0))


class Projection:
    """What a view says of one partition."""

    def __init__(self, view, partition):
        self.epoch = epoch(view["epoch"])
        self.timeline = int(view.get("timeline", 0))
        incarnations = {int(shard.get("index", 0)): int(shard["incarnation"]) for shard in view.get("shards", ())}
        self.owner = int(view["owners"][partition])
        self.owner_incarnation = incarnations.get(self.owner, 0)
        self.pair = self.one(view.get("pairs", ()), partition)
        self.move = self.one(view.get("moves", ()), partition)

    @staticmethod
    def one(entries, partition):
        return next((each for each in entries if int(each.get("partition", 0)) == partition), None)

    def joins(self):
        return self.move if self.move and self.move.get("replica") else None

    def hands_over(self):
        return self.move if self.move and self.move.get("handOver") else None

    def moves_elsewhere(self):
        return self.move if self.move and not self.joins() and not self.hands_over() else None
