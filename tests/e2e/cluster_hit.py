"""Something befalls a release that trains: how long until it trains again, and what has to be trained again."""

import json
import time
import typing

BURST = 2  # Times the mean rate, for a while as short as a checkpoint.
IN_FLIGHT = 2 * 2 * 4  # Two workers with a batch being pushed and one being computed, four records each.


class Cost(typing.NamedTuple):
    seconds: float  # Until training went on.
    again: int      # Examples that the chief counts as sent again,
    rate: float     # examples a second before,
    took: float     # seconds that the checkpoint took that was returned to.
    anew: bool      # That checkpoint was taken since.

    def trained_in(self, seconds):
        return BURST * self.rate * seconds + IN_FLIGHT

    def __str__(self):
        return (f"trains again after {self.seconds:.1f} s, {self.again} examples sent again; {self.rate:.0f} a second before, "
                f"the checkpoint took {self.took:.2f} s")


def lost(status):
    return sum(int(loss["examples"]) for loss in status["losses"])


def _folder_of(uri):
    return uri.rstrip("/").rsplit("/", 1)[-1]


def _checkpoint_seconds(log, loss):
    """How long the checkpoint of a return took, as its chief has logged."""
    folder = loss["checkpoint"]
    for line in log.splitlines():
        entry = json.loads(line) if line.startswith("{") else {}
        if entry.get("msg") == "checkpoint" and folder.endswith("/" + entry["id"]):
            return float(entry["seconds"])
    raise AssertionError(f"no chief logged the checkpoint {folder}:\n{log[-2000:]}")


def _rate(release):
    """Examples a second, over two seconds."""
    first, begin = int(release.goes_on()["examples"]), time.monotonic()
    time.sleep(2)  # What is measured, and not waited for.
    return (int(release.status()["examples"]) - first) / (time.monotonic() - begin)


def moved(status):
    """How many partitions have moved, by this chief's count."""
    return int(status["moves"].get("moved", 0))


def emptied_and_filled(old):
    """As hit's `renewed`: a shard that ends in order hands all it has to the others, and is given its share when it is back."""
    partitions = sum(int(shard.get("partitions", 0)) for shard in old["shards"])
    def done(status):
        owning = [shard for shard in status["shards"] if int(shard.get("partitions", 0)) > 0]
        return len(owning) == len(old["shards"]) and moved(status) >= moved(old) + 0.8 * partitions
    return done


def share(count):
    """As hit's `renewed`: so many shards serve, and each owns partitions."""
    def done(status):
        serving = [shard for shard in status["shards"] if shard["state"] == "serving"]
        owning = [shard for shard in serving if int(shard.get("partitions", 0)) > 0]
        return len(owning) == len(serving) == count
    return done


def later(old, key):
    """As hit's `renewed`: the term or the timeline is a later one."""
    return lambda status: int(status[key]) > int(old[key])


def hit(release, what, blow, renewed):
    """Calls blow() in the middle of training; the status when training goes on, and what it cost.

    `renewed(status)`: what was hit is back."""
    release.until(lambda status: int(status["checkpoint"]["step"]) > 0, "a checkpoint")
    rate = _rate(release)
    with release.chief_log() as log:
        before = release.status()
        begin = time.monotonic()
        blow()
        release.until(renewed, f"{what}: what was hit comes back")
        status = release.goes_on()
        seconds = time.monotonic() - begin
        if status["state"] != "JOB_STATE_RUNNING":
            raise AssertionError(f"{what}: the job was over before it was hit")
        returns = status["losses"][len(before["losses"]):]
        took = _checkpoint_seconds(log() + release.chief_log_now(), returns[-1]) if returns else 0
    anew = bool(returns) and _folder_of(returns[-1]["checkpoint"]) != _folder_of(before["checkpoint"]["uri"])
    return status, Cost(seconds, lost(status) - lost(before), rate, took, anew)
