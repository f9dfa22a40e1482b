"""The events of a partition that has a backup, in the words of Replicas.tla."""

from traces.telling import Step, Telling, Unlike


class ReplicasTelling(Telling):
    model = "Replicas"

    def published(self, now):
        backup = int(now.pair.get("backup", 0)) if now.pair else None
        return {"pri": self.shard(now.owner), "pinc": self.incarnation(now.owner, now.owner_incarnation),
                "bak": 0 if backup is None else self.shard(backup),
                "binc": 0 if backup is None else self.incarnation(backup, int(now.pair["backupIncarnation"]))}

    def differences(self, event, before, now):
        if now.moves_elsewhere():
            raise Unlike(f"{event['where']}: partition {self.partition} moves to a shard that is not its backup")
        same_pair = before.pair and now.pair and before.pair["id"] == now.pair["id"]
        gone = before.pair and not same_pair
        became_owner = gone and int(before.pair.get("backup", 0)) == now.owner and now.owner != before.owner
        if became_owner:
            self.decide(event, "hand over" if before.hands_over() else "promote")
        elif gone:
            self.decide(event, "drop backup")
        elif before.hands_over() and not now.hands_over():
            self.decide(event, "cancel hand-over")
        if now.owner != before.owner and not became_owner:
            raise Unlike(f"{event['where']}: partition {self.partition} has another owner who was not its backup")
        if now.owner == before.owner and now.owner_incarnation != before.owner_incarnation:
            raise Unlike(f"{event['where']}: the owner of partition {self.partition} was started anew")
        joined, joins = before.joins(), now.joins()
        if joined and not became_owner and not gone:
            if now.pair and now.pair["move"] == joined["id"]:
                self.decide(event, "form pair")
            elif not joins or joins["id"] != joined["id"]:
                self.decide(event, "cancel join")
        if joins and (not joined or joins["id"] != joined["id"]):
            target = int(joins.get("to", 0))
            life = self.crash_before(event, target, int(joins["toIncarnation"]))
            self.decide(event, "order join", s=self.shard(target), i=life)
        if now.hands_over() and not before.hands_over():
            self.decide(event, "order hand-over")

    def on_partition(self, event, index):
        kind, shard = event["event"], self.shard(index)
        if kind in ("paired", "alone", "thawed", "adopted", "promoted", "left", "copied", "took", "stands still", "stands by"):
            self.learn(event, index)
        if kind == "pushed":
            self.add(event, "push", s=shard, p=self.push(event["push"]))
        elif kind == "replayed":
            self.add(event, "replicate", s=shard, p=self.push(event["push"]))
        elif kind == "answered":
            self.answer(event, shard, self.push(event["push"]))
        elif kind == "copied":
            self.add(event, "clone", s=shard)
        elif kind == "took":
            self.add(event, "take clone", s=shard)
            self.add(event, "ready", s=shard)
        elif kind == "stands still":
            self.add(event, "stop", s=shard)

    def answer(self, event, shard, push):
        """The answer was decided some time before somebody wrote it down: when both copies had the push, or when a view
        had dropped the backup that had not."""
        place = next((place for place in range(len(self.steps) - 1, -1, -1)
                      if self.steps[place].get("p") == push and self.steps[place]["a"] in ("push", "replicate")), None)
        if place is None:
            return self.add(event, "answer", s=shard, p=push)
        if self.steps[place]["a"] == "push":
            place = next((later for later in range(place, len(self.steps))
                          if self.steps[later].get("s") == shard and self.steps[later]["a"] == "learn" and
                          self.steps[later].event["event"] == "alone"), place)
        self.steps.insert(place + 1, Step(event, "answer", s=shard, p=push))
