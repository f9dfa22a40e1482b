"""The events of a partition without a backup, which moves between two shards, in the words of Moves.tla."""

from traces.events import epoch
from traces.telling import Telling, Unlike


MOST_SHARDS = 2  # That the model has.


class MovesTelling(Telling):
    model = "Moves"

    def __init__(self, events, partition):
        self.done = set()    # (what, move): what a source has done for a move.
        self.deltas = {}     # Move -> how many deltas its source has sent.
        self.taken = {}      # (shard, push) -> the step by which the shard took it last.
        self.named = {}      # The model's epoch -> the move that its view names.
        super().__init__(events, partition)

    def shard(self, index):
        if index >= MOST_SHARDS:
            raise Unlike(f"shard {index} takes part; only jobs of {MOST_SHARDS} shards are modelled")
        return super().shard(index)

    def published(self, now):
        return {"own": self.shard(now.owner), "inc": self.incarnation(now.owner, now.owner_incarnation)}

    def differences(self, event, before, now):
        if now.pair or now.joins():
            raise Unlike(f"{event['where']}: partition {self.partition} has a backup")
        moved, moves = before.moves_elsewhere(), now.moves_elsewhere()
        switched = now.owner != before.owner
        if switched:
            if not moved or int(moved.get("to", 0)) != now.owner:
                raise Unlike(f"{event['where']}: partition {self.partition} has another owner to whom it was not to move")
            self.decide(event, "switch")
        elif now.owner_incarnation != before.owner_incarnation:
            raise Unlike(f"{event['where']}: the owner of partition {self.partition} was started anew")
        elif moved and not (moves and moves["id"] == moved["id"]):
            self.decide(event, "cancel move")
        if moves and not (moved and moves["id"] == moved["id"]):
            target = int(moves.get("to", 0))
            life = self.crash_before(event, target, int(moves["toIncarnation"]))
            self.decide(event, "order move", s=self.shard(target), i=life)
            self.named[self.model_epoch] = epoch(moves["id"])

    def on_partition(self, event, index):
        kind, shard = event["event"], self.shard(index)
        move = epoch(event) if "term" in event else None
        if move:  # Whoever does something for a move knows the view that has ordered it.
            self.heard[index] = max(self.heard.get(index, move), move)
        self.learn(event, index)
        if move and self.named.get(self.seen.get(index)) != move:
            return  # It has been cancelled meanwhile, and nobody uses what is done for it.
        if kind == "pushed":
            push = self.push(event["push"])
            self.add(event, "push", s=shard, p=push, again=int(event["again"]), told=0)
            self.taken[shard, push] = self.steps[-1]
        elif kind == "answered":
            self.answer(event, shard, self.push(event["push"]))
        elif kind == "cloned":
            self.once(event, "clone", shard)
        elif kind == "delta":
            self.deltas[move] = self.deltas.get(move, 0) + 1
            self.add(event, "delta", s=shard)
        elif kind == "frozen":
            self.once(event, "rest", shard)
        elif kind == "thawed" and ("rest", self.named.get(self.seen.get(index))) in self.done:
            raise Unlike(f"{event['where']}: the source has thawed before a view said so, which is not modelled")
        elif kind == "took":
            self.add(event, "take clone", s=shard)
            for _ in range(self.deltas.get(move, 0)):
                self.add(event, "take delta", s=shard)
            self.add(event, "take rest", s=shard)
            self.add(event, "ready", s=shard)

    def once(self, event, action, shard):
        """A source that is asked again does nothing more."""
        name = action, epoch(event)
        if name not in self.done:
            self.done.add(name)
            self.add(event, action, s=shard)

    def answer(self, event, shard, push):
        """The answer was decided when the shard took the push, which is where the model tells it."""
        taken = self.taken.get((shard, push))
        if taken is None:
            raise Unlike(f"{event['where']}: push {event['push']} is answered by a shard that never took it")
        taken["told"] = 1
