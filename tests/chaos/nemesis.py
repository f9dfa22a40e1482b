"""Breaks one or two things at a time in a running job, drawn from a seed, and measures how long it takes until training
goes on."""

import contextlib
import random
import signal
import time

import grpc

from crew import view_pb2

POLL_SECONDS = 0.05
OVER = (view_pb2.JOB_STATE_COMPLETED, view_pb2.JOB_STATE_FAILED)
GOES_ON_WITHIN = 90  # Seconds: longer means that the job is stuck.
TWO_AT_ONCE = 0.3    # The share of blows that are two.
GIVEN_UP = 2  # A shard's exit code when others have come in its place; its supervisor starts another.


class Blow:
    """What was broken, for how long, and the seconds from its mending to progress."""

    def __init__(self, kinds, victims):
        self.kinds, self.victims = kinds, victims
        self.seconds = self.recovery = None

    def __str__(self):
        return (f"{' + '.join(self.kinds)} of {', '.join(self.victims)} for {self.seconds:.1f} s: "
                f"progress {self.recovery:.1f} s later")


class Nemesis:
    """`town` is a running crew in namespaces. A kind of blow is a context manager of that name below: it breaks
    something, and mends it at its end."""

    KINDS = ("kill_worker", "kill_shard", "kill_chief", "kill_all_shards", "kill_everybody", "ask_worker_to_stop",
             "ask_shard_to_stop", "ask_chief_to_stop", "add_shard_for_a_while", "freeze_worker", "freeze_shard",
             "freeze_chief", "cut_off", "cut_between", "cut_one_way", "rain", "narrow", "store_slow", "store_refuses",
             "store_loses_answers", "store_tears", "store_full", "store_cut_off")

    def __init__(self, town, seed, kinds=KINDS):
        self.town, self.kinds = town, kinds
        self.random = random.Random(seed)
        self.blows = []
        self.struck = set()

    def strike_for(self, seconds, pause=(0.5, 3)):
        """Until the time is over or the job is."""
        end = time.monotonic() + seconds
        order = []
        while time.monotonic() < end and not self.over():
            if len(order) < 2:
                order = self.random.sample(self.kinds, len(self.kinds))
            kinds = [order.pop()]
            if self.random.random() < TWO_AT_ONCE:
                kinds.append(order.pop())
            self.strike(kinds)
            time.sleep(self.random.uniform(*pause))

    def strike(self, kinds):
        self.struck = set()
        began = time.monotonic()
        with contextlib.ExitStack() as blows:
            for kind in kinds:
                blows.enter_context(getattr(self, kind)())
            # Longer than a lease, or shorter than anybody notices.
            time.sleep(self.random.choice((0.1, 1, 2.5, 5)) * self.random.uniform(0.5, 1.2))
        blow = Blow(kinds, sorted(self.struck))
        self.blows.append(blow)
        blow.seconds = time.monotonic() - began
        blow.recovery = self.until_progress()
        print(f"  {blow}", flush=True)

    # ---- what is so ----

    def status(self):
        try:
            return self.town.status()
        except grpc.RpcError:  # The chief does not answer just now.
            return None

    def over(self):
        status = self.status()
        return status is not None and status.state in OVER

    def until_progress(self):
        """Seconds until examples are acknowledged that were not at first, nor after a return to a checkpoint."""
        began = time.monotonic()
        lowest = float("inf")
        while True:
            self.start_again_what_was_given_up()
            status = self.status()
            if status is not None:
                if status.examples > lowest or status.state in OVER:
                    return time.monotonic() - began
                lowest = min(lowest, status.examples)
            if time.monotonic() - began > GOES_ON_WITHIN:
                raise AssertionError(f"no progress {GOES_ON_WITHIN} s after {self.blows[-1].kinds}: {status}\n"
                                     f"{self.town.last_words()}")
            time.sleep(POLL_SECONDS)

    # ---- victims: nobody is struck twice at a time ----

    def one_of(self, names):
        free = [name for name in names if name not in self.struck]
        chosen = self.random.choice(free) if free else None
        if chosen is not None:
            self.struck.add(chosen)
        return chosen

    def workers(self):
        return [f"worker-{index}" for index in range(self.town.workers)]

    def shards(self):
        return [f"ps-{index}" for index in range(self.town.shards)]

    def guest(self):
        """The shard that add_shard_for_a_while adds."""
        return f"ps-{self.town.shards}"

    def everybody(self):
        return [*self.workers(), *self.shards(), "chief"]

    # ---- processes ----

    def was_given_up(self, name):
        return name in [*self.shards(), self.guest()] and self.town.processes[name].poll() == GIVEN_UP

    def start_again_what_was_given_up(self):
        """As kubelet does: a shard that hears that others have come in its place ends."""
        for name in self.shards():
            if self.was_given_up(name):
                self.town.add_again(name)

    def end(self, names, how=signal.SIGKILL):
        for name in names:
            self.town.processes[name].send_signal(how)
        for name in names:
            code = self.town.processes[name].wait(35)
            # One that waits for the chief, or has just begun, may be stopped by the signal itself.
            if how == signal.SIGTERM and code not in (0, -how) and not self.was_given_up(name):
                raise AssertionError(f"{name}, asked to stop, ended with {code}\n{self.town.last_words()}")

    @contextlib.contextmanager
    def ended(self, names, how=signal.SIGKILL):
        names = [name for name in names if name is not None]
        self.end(names, how)
        yield
        for name in names:
            self.town.add_again(name)

    def kill_worker(self):
        return self.ended([self.one_of(self.workers())])

    def kill_shard(self):
        return self.ended([self.one_of(self.shards())])

    def kill_chief(self):
        return self.ended([self.one_of(["chief"])])

    def kill_all_shards(self):
        return self.ended([self.one_of(self.shards()) for _ in self.shards()])

    def kill_everybody(self):
        return self.ended([self.one_of(self.everybody()) for _ in self.everybody()])

    def ask_worker_to_stop(self):
        return self.ended([self.one_of(self.workers())], signal.SIGTERM)

    def ask_shard_to_stop(self):
        return self.ended([self.one_of(self.shards())], signal.SIGTERM)

    def ask_chief_to_stop(self):
        return self.ended([self.one_of(["chief"])], signal.SIGTERM)

    @contextlib.contextmanager
    def add_shard_for_a_while(self):
        """Another shard joins, is given partitions, and leaves."""
        name = self.one_of([self.guest()])
        if name is not None:
            self.town.add_again(name)
        yield
        if name is not None:
            self.end([name], signal.SIGTERM)

    @contextlib.contextmanager
    def frozen(self, name):
        process = self.town.processes[name] if name is not None else None
        if process is not None:
            process.send_signal(signal.SIGSTOP)
        yield
        if process is not None:
            process.send_signal(signal.SIGCONT)

    def freeze_worker(self):
        return self.frozen(self.one_of(self.workers()))

    def freeze_shard(self):
        return self.frozen(self.one_of(self.shards()))

    def freeze_chief(self):
        return self.frozen(self.one_of(["chief"]))

    # ---- links ----

    @contextlib.contextmanager
    def on_link(self, what, name, *others):
        if name is not None and None not in others:
            getattr(self.town, what)(name, *others)
        yield
        if name is not None:
            self.town.heal(name)

    def cut_off(self):
        return self.on_link("cut", self.one_of(self.everybody()))

    def cut_between(self):
        return self.on_link("cut_between", self.one_of(self.everybody()), self.one_of(self.everybody()))

    def cut_one_way(self):
        return self.on_link("cut_one_way", self.one_of(self.everybody()), self.one_of(self.everybody()))

    def rain(self):
        return self.on_link("rain", self.one_of(self.everybody()), self.random.choice((2, 10, 30)))

    def narrow(self):
        return self.on_link("narrow", self.one_of(self.everybody()), "2mbit")

    def store_cut_off(self):
        return self.on_link("cut", self.one_of(["store"]))

    # ---- the store ----

    @contextlib.contextmanager
    def weather(self, **what):
        free = self.one_of(["store"])
        if free:
            self.town.weather(**what)
        yield
        if free:
            self.town.weather()

    def store_slow(self):
        return self.weather(slow=self.random.choice((0.1, 0.5, 2)))

    def store_refuses(self):
        return self.weather(refuse=self.random.choice((0.3, 1)))

    def store_loses_answers(self):
        return self.weather(lose=self.random.choice((0.2, 0.6)))

    def store_tears(self):
        return self.weather(tear=0.5)

    def store_full(self):
        return self.weather(full=True)
