"""Attacks on a live job: each is a method of Attacker that does its worst and returns what it got, one line.

An attacker sends whatever its role lets it send, over connections of its own. What it gets is for people to read;
whether it did harm is told by the job, which has to end with the right model.
"""

import contextlib
import pathlib
import random
import struct
import sys
import time

import grpc

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
from crew import chief_pb2, ps_pb2, view_pb2
from http2 import Peer

PATIENCE = 20  # Seconds, for one answer.
HUGE = (1 << 64) - 1
SESSION_BIT = 1 << 63


def answer(call):
    """Its reply, or the status with which it was refused."""
    try:
        return call()
    except grpc.RpcError as error:
        return error


def in_words(got):
    if isinstance(got, grpc.RpcError):
        first = (got.details() or "").splitlines()
        return f"{got.code().name}: {first[0][:150] if first else ''}"
    return "taken"


class Attacker:
    """`connect(role, address)`: a channel to a process in that role, with whatever certificate the attacker has.
    `honest_connect`: with a worker's. `view`: of the job, which everybody in it knows. `elsewhere`: a folder that is not
    the job's. `cramp(process)`: it may open few more files meanwhile. `look(command...)`: what an admin sees on the
    terminal. `bucket`: town.Bucket, or None."""

    def __init__(self, connect, honest_connect, address, view, elsewhere, cramp, look, bucket):
        self.connect, self.honest_connect, self.address, self.view = connect, honest_connect, address, view
        self.elsewhere, self.cramp, self.look, self.bucket = elsewhere, cramp, look, bucket
        self.seed = random.Random()
        self.chief_channel = connect("chief", address)
        self.shard_channels = [connect("ps", shard.address) for shard in view.shards]

    def close(self):
        for channel in (self.chief_channel, *self.shard_channels):
            channel.close()

    # ---- what it is made of ----

    def to_chief(self, method, request, reply):
        call = self.chief_channel.unary_unary(f"/capstan.v1.Chief/{method}",
                                              request_serializer=type(request).SerializeToString,
                                              response_deserializer=reply.FromString)
        return answer(lambda: call(request, timeout=PATIENCE))

    def to_shard(self, method, request, reply, index=0):
        request.header.wire_version = 1
        request.header.epoch.CopyFrom(self.view.epoch)
        request.header.timeline = self.view.timeline
        request.header.target_incarnation = self.view.shards[index].incarnation
        call = self.shard_channels[index].unary_unary(f"/capstan.v1.Ps/{method}",
                                                      request_serializer=type(request).SerializeToString,
                                                      response_deserializer=reply.FromString)
        return answer(lambda: call(request, timeout=PATIENCE))

    def register(self, name, incarnation=None):
        return self.to_chief("RegisterWorker", chief_pb2.RegisterWorkerRequest(
            wire_version=1, name=name, incarnation=incarnation or self.seed.getrandbits(63)),
            chief_pb2.RegisterWorkerReply)

    def beat(self, name, incarnation, trainers, leases=(), **report):
        return self.to_chief("WorkerHeartbeat", chief_pb2.WorkerHeartbeatRequest(
            name=name, incarnation=incarnation, leases=leases, report=report,
            trainers=[{"trainer": trainer, "wants_lease": True} for trainer in trainers]),
            chief_pb2.WorkerHeartbeatReply)

    @contextlib.contextmanager
    def as_worker(self):
        """A worker's place in the job: says a heartbeat with the given lease reports, gives the reply."""
        name, incarnation = "liar", self.seed.getrandbits(63)
        registered = self.register(name, incarnation)
        if isinstance(registered, grpc.RpcError):
            yield lambda leases=(), **report: registered
            return
        yield lambda leases=(), **report: self.beat(name, incarnation, registered.trainers, leases, **report)
        # It leaves as it should, so that the next attack finds the job as this one did.
        self.leave(name, incarnation, registered.trainers)

    def leave(self, name, incarnation, trainers):
        self.to_chief("WorkerHeartbeat", chief_pb2.WorkerHeartbeatRequest(
            name=name, incarnation=incarnation, draining=True,
            trainers=[{"trainer": trainer} for trainer in trainers]), chief_pb2.WorkerHeartbeatReply)

    def report_of(self, lease, **said):
        return chief_pb2.LeaseReport(generation=lease.generation, kind=lease.kind, timeline=lease.timeline,
                                     trainer=lease.trainer, lane=lease.lane, **said)

    def about_leases(self, **said):
        """Says this of every lease that it is given, some times over."""
        given = 0
        with self.as_worker() as beat:
            reply = beat()
            for _ in range(2):
                if isinstance(reply, grpc.RpcError):
                    return in_words(reply)
                given += len(reply.leases)
                reply = beat([self.report_of(lease, **said) for lease in reply.leases])
        return f"{given} leases given, and given to others" if given else "no lease given to it any more"

    def without_lease(self, **said):
        """Says it of leases that nobody has given to it, in the name of an earlier chief."""
        with self.as_worker() as beat:
            reply = beat()
            if isinstance(reply, grpc.RpcError):
                return in_words(reply)
            mine = reply.leases[0].trainer if reply.leases else 0
            reports = [chief_pb2.LeaseReport(kind=chief_pb2.LEASE_KIND_TASK, stream=task, trainer=mine,
                                             timeline=self.view.timeline, generation={"term": 0, "count": task},
                                             **said) for task in range(50)]
            reply = beat(reports)
        return in_words(reply) if isinstance(reply, grpc.RpcError) else f"{len(reply.revoked)} of 50 not known"

    def afterwards(self, role="chief"):
        """Whether a worker that is honest still hears from the chief, or from the first shard."""
        address, method = {"chief": (self.address, "/capstan.v1.Chief/WorkerHeartbeat"),
                           "ps": (self.view.shards[0].address, "/capstan.v1.Ps/Pull")}[role]
        begin = time.monotonic()
        with self.honest_connect(role, address) as channel:
            got = answer(lambda: channel.unary_unary(method)(b"", timeout=PATIENCE))
        # What it asks makes no sense; an answer is one all the same.
        mute = isinstance(got, grpc.RpcError) and got.code() in (grpc.StatusCode.UNAVAILABLE,
                                                                 grpc.StatusCode.DEADLINE_EXCEEDED)
        return f"{role} {'MUTE' if mute else f'answers others after {time.monotonic() - begin:.1f} s'}"

    def push(self, **request):
        return in_words(self.to_shard("Push", ps_pb2.PushRequest(**request), ps_pb2.PushReply))

    # ---- the attacks ----

    def deafen_a_port(self):
        """More connections at once than the process may have, which then go."""
        said = []
        for role, process, address in (("chief", "chief", self.address), ("ps", "ps-0", self.view.shards[0].address)):
            with self.cramp(process), contextlib.ExitStack() as stack:
                for _ in range(200):
                    stack.enter_context(Peer(int(address.rpartition(":")[2]), greet=False))
                time.sleep(0.5)  # So that it has accepted what it can.
            said.append(self.afterwards(role))
        return "; ".join(said)

    def freeze_the_chief(self):
        """Batches beyond number."""
        return f"{self.about_leases(batches_done=1 << 55, examples=1 << 60)}; {self.afterwards()}"

    def a_round_that_is_far_away(self):
        return self.about_leases(round=HUGE)

    def an_error_of_a_megabyte(self):
        return self.about_leases(error="x" * (1 << 20), returned=True)

    def bad_records_without_a_lease(self):
        return self.without_lease(finished=True, bad_records=1000)

    def a_loss_that_is_not_finite_without_a_lease(self):
        return self.without_lease(nonfinite_loss=True)

    def bad_data_of_each_lease(self):
        return self.about_leases(error="not what it should be", bad_data=True)

    def a_loss_that_is_not_finite_of_each_lease(self):
        return self.about_leases(nonfinite_loss=True)

    def bad_records_of_each_lease(self):
        return self.about_leases(finished=True, bad_records=10)

    def take_the_place_of_a_worker(self):
        return in_words(self.register("worker-0"))

    def register_thousands(self):
        taken = 0
        for i in range(1500):
            got = self.register(f"horde-{i}")
            if isinstance(got, grpc.RpcError):
                return f"after {taken}: {in_words(got)}"
            taken += 1
        return f"all {taken}"

    def a_report_of_sixty_megabytes(self):
        with self.as_worker() as beat:
            return in_words(beat(stalled_on="x" * (60 << 20)))

    def watch_two_thousand_times(self):
        channels, streams, seen = [], [], 0
        try:
            for _ in range(20):  # A connection has so many calls at a time, and no more.
                channel = self.connect("chief", self.address)
                channels.append(channel)
                watch = channel.unary_stream("/capstan.v1.Chief/WatchView",
                                             response_deserializer=view_pb2.View.FromString)
                streams += [watch(b"", timeout=PATIENCE) for _ in range(100)]
            for stream in streams:
                got = answer(lambda: next(stream))
                if isinstance(got, grpc.RpcError):
                    return f"after {seen}: {in_words(got)}"
                seen += 1
            return f"all {seen}"
        finally:
            for channel in channels:
                channel.close()

    def push_with_the_last_generation(self):
        return self.push(stream={"stream": 0, "generation": {"term": HUGE, "count": HUGE, "seal": 1}},
                         partitions=[{"partition": 0}])

    def streams_without_end(self):
        refused = [self.push(stream={"stream": (1 << 40) + i, "generation": {"term": 1, "count": 1, "seal": 1}},
                             partitions=[{"partition": 0}]) for i in range(100)]
        return f"{sum(word != 'taken' for word in refused)} of 100 refused: {refused[-1]}"

    def a_lane_that_there_is_not(self):
        return self.push(stage={"lane": 123456, "round": 1, "generation": {"term": 1, "count": 1, "seal": 1}})

    def open_a_round_with_the_last_generation(self):
        return in_words(self.to_shard("OpenRound", ps_pb2.OpenRoundRequest(
            lane=0, generation={"term": HUGE, "count": HUGE, "seal": 1}), ps_pb2.OpenRoundReply))

    def close_a_round_that_is_open(self):
        request = ps_pb2.PullRequest(round=1 << 40, closed={"round": (1 << 40) - 1, "seal": 1})
        return in_words(self.to_shard("Pull", request, ps_pb2.PullReply))

    def tell_the_clock_of_another_trainer(self):
        """Which is finished then, so that nobody waits for it (ssp)."""
        request = ps_pb2.PushRequest()
        request.header.trainer, request.header.clock = 1, 1 << 40
        return in_words(self.to_shard("Push", request, ps_pb2.PushReply))

    def tell_it_in_a_session_of_its_own(self):
        request = ps_pb2.PushRequest(stream={"stream": SESSION_BIT | 8})
        request.header.trainer, request.header.clock = 1, 1 << 40
        return in_words(self.to_shard("Push", request, ps_pb2.PushReply))

    def tell_it_in_a_piece_of_a_push(self):
        request = ps_pb2.PushPieceRequest(push=1, size=1 << 40, piece=b"x")
        request.header.trainer = 1
        return in_words(self.to_shard("PushPiece", request, ps_pb2.PushReply))

    def sessions_without_end(self):
        """More than a shard keeps of one address."""
        for i in range(3000):
            got = self.push(stream={"stream": SESSION_BIT | (1 << 40) + i})
            if got != "taken":
                return f"after {i}: {got}"
        return "all 3000"

    def run_ahead_of_the_job(self):
        """Learning rates follow this number, and only the chief's word counts."""
        return self.push(stream={"stream": SESSION_BIT | 7}, progress_examples=1 << 60, partitions=[{"partition": 0}])

    def save_elsewhere(self):
        request = ps_pb2.SavePartitionsRequest(uri=str(self.elsewhere), id="stolen")
        got = in_words(self.to_shard("SavePartitions", request, ps_pb2.SavePartitionsReply))
        return f"{got}; written there: {len(list(self.elsewhere.iterdir()))}"

    def load_from_elsewhere(self):
        request = ps_pb2.LoadPartitionsRequest(uri=str(self.elsewhere), partitions=[0])
        return in_words(self.to_shard("LoadPartitions", request, ps_pb2.LoadPartitionsReply))

    def write_the_bucket(self):
        """With the keys of a worker, whatever the attacker's certificate: beside a checkpoint, over it, over the chief's state and
        over the data, and each of them away."""
        if self.bucket is None:
            return "not tried: this machine has no S3 server; CAPSTAN_TEST_S3_SERVER names a minio program"
        deadline = time.monotonic() + PATIENCE
        while not (manifests := self.bucket.found("MANIFEST.json")):
            if time.monotonic() > deadline:
                return "not tried: the job has taken no checkpoint"
            time.sleep(0.1)
        there = [manifests[-1], *self.bucket.found("chief.json"), "train/records.csv"]
        writes = [("PUT", key) for key in [manifests[-1].replace("MANIFEST", "mine"), *there]] + [("DELETE", key) for key in there]
        written = [f"{method} {key}" for method, key in writes if self.bucket.try_to(method, key) != "AccessDenied"]
        state = self.bucket.try_to("GET", there[1])
        return (f"{'WRITTEN: ' + ', '.join(written) if written else f'{len(writes)} of {len(writes)} refused'}; "
                f"read its data: {self.bucket.try_to('GET', 'train/records.csv')}, the chief's state: {state}")

    def escape_sequences_for_the_terminal(self):
        """In all words that the chief is told and people are shown."""
        escape = "\x1b]0;owned\x07\x1b[2J"
        name, incarnation = f"liar{escape}", self.seed.getrandbits(63)
        registered = self.register(name, incarnation)
        if not isinstance(registered, grpc.RpcError):
            self.beat(name, incarnation, registered.trainers, stalled_on=escape)
        shown = self.look("status", "--chief", self.address)
        said = "ESCAPES" if any(byte in shown for byte in "\x1b\x07") else "no escape in `capstan status`"
        if isinstance(registered, grpc.RpcError):
            return f"{in_words(registered)}; {said}"
        self.leave(name, incarnation, registered.trainers)
        return f"{said}, which shows {'it' if 'liar?' in shown else 'nothing of it'}"

    def nothing_but_numbers(self):
        """What packs of bytes may hold that are no floats."""
        return self.push(stream={"stream": SESSION_BIT | 9}, partitions=[
            {"partition": 0, "blocks": [{"block": 0, "values": struct.pack("<f", float("nan"))}]}])

    # ---- with TLS only: without it everybody may ----

    def stop_the_job(self):
        return in_words(self.to_chief("StopJob", chief_pb2.StopJobRequest(reason="because"), chief_pb2.StopJobReply))

    def order_a_shard(self):
        return in_words(self.to_shard("HoldRounds", ps_pb2.HoldRoundsRequest(hold=True, number=HUGE),
                                      ps_pb2.HoldRoundsReply))


    # ---- as a shard that has the certificate of another one ----

    def take_the_place_of_a_shard(self):
        """Also where nobody's certificate is asked for: the shard is there."""
        return in_words(self.to_chief("RegisterShard", chief_pb2.RegisterShardRequest(
            wire_version=1, index=0, address="127.0.0.1:1", incarnation=self.seed.getrandbits(63)),
            chief_pb2.RegisterShardReply))

    def beat_for_another_shard(self, **said):
        """Says that it leaves, and holds nothing."""
        return in_words(self.to_chief("ShardHeartbeat", chief_pb2.ShardHeartbeatRequest(
            index=0, incarnation=self.view.shards[0].incarnation, draining=True, **said), chief_pb2.ShardHeartbeatReply))

    def take_the_address_of_a_shard(self):
        """Everybody would go elsewhere for what it has. Its incarnation is in the view."""
        return in_words(self.to_chief("RegisterShard", chief_pb2.RegisterShardRequest(
            wire_version=1, index=0, address="127.0.0.1:1", incarnation=self.view.shards[0].incarnation),
            chief_pb2.RegisterShardReply))

    def a_shards_report_of_thirty_megabytes(self):
        return self.beat_for_another_shard(report={"staleness_counts": [HUGE] * (3 << 20)})

    # ---- where nobody's certificate is asked for, too ----

    def a_shard_at_an_address_that_is_none(self):
        """Which the chief and all workers would try to reach."""
        return in_words(self.to_chief("RegisterShard", chief_pb2.RegisterShardRequest(
            wire_version=1, index=1, address="unix:/etc/passwd", incarnation=self.seed.getrandbits(63)),
            chief_pb2.RegisterShardReply))

    def a_shard_that_the_job_has_not(self):
        return in_words(self.to_chief("RegisterShard", chief_pb2.RegisterShardRequest(
            wire_version=1, index=(1 << 32) - 1, address="127.0.0.1:1", incarnation=self.seed.getrandbits(63)),
            chief_pb2.RegisterShardReply))

    def ask_for_counts_a_thousand_times(self):
        """Of rounds that are far away: each such call waits."""
        ask = ps_pb2.WatchCountsRequest(round=1 << 40)
        ask.header.wire_version, ask.header.timeline = 1, self.view.timeline
        ask.header.target_incarnation = self.view.shards[0].incarnation
        ask.header.epoch.CopyFrom(self.view.epoch)
        channels = [self.connect("ps", self.view.shards[0].address) for _ in range(10)]
        try:
            calls = [channel.unary_unary("/capstan.v1.Ps/WatchCounts",
                                         request_serializer=type(ask).SerializeToString).future(ask, timeout=3)
                     for channel in channels for _ in range(100)]
            refused = [in_words(call.exception()) for call in calls if call.exception() is not None]
            return f"{len(refused)} of {len(calls)} end in vain: {refused[-1] if refused else ''}"
        finally:
            for channel in channels:
                channel.close()


# Without TLS everybody may.
ORDERS = ["stop_the_job", "order_a_shard"]
LONG = ["a_report_of_sixty_megabytes", "sessions_without_end", "register_thousands", "watch_two_thousand_times",
        "deafen_a_port", "a_shards_report_of_thirty_megabytes", "ask_for_counts_a_thousand_times"]


def names(tls, short=False):
    """Of the attacks, in an order in which none hides another: floods come last."""
    attacks = [name for name in vars(Attacker) if callable(getattr(Attacker, name)) and not name.startswith("_")]
    tools = {"close", "to_chief", "to_shard", "register", "beat", "as_worker", "report_of", "about_leases",
             "without_lease", "push", "afterwards", "leave"}
    chosen = [name for name in attacks if name not in tools and name not in LONG]
    return [name for name in chosen + ([] if short else LONG) if tls or name not in ORDERS]
