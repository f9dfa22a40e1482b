"""Peers that mean harm, or are broken, on the ports of a live shard and chief: they are sent away or ignored,
memory and CPU stay bounded, and an honest client notices nothing."""

import contextlib
import gzip
import multiprocessing
import os
import pathlib
import random
import resource
import struct
import sys
import tempfile
import time
import unittest

import grpc

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import http2
from crew import Crew, chief_pb2, watch_view
from honest_client import HonestClient, MIB, PATIENCE, SESSION_BIT
from http2 import Peer, frame

JOB = """
job: hostile
data: {{format: csv, train: [{data}], schema: {{label: 0, categorical: "1"}}}}
model: {{embedding_dim: 64, towers: [{{kind: linear}}, {{kind: fm}}, {{kind: bias}}], loss: logistic}}
optimizer: {{sparse: {{kind: sgd, learning_rate: 1}}, dense: {{kind: sgd, learning_rate: 1}}}}
"""
PULL, PUSH = "/capstan.v1.Ps/Pull", "/capstan.v1.Ps/Push"


def send_for(port, data, seconds, ended):
    """`ended` counts the connections that took no more."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        with contextlib.suppress(OSError), Peer(port) as peer:
            i = 0
            while time.monotonic() < deadline:
                if not peer.send(data(i)):
                    with ended.get_lock():
                        ended.value += 1
                    break
                i += 1


def answered(peer, stream):
    """Whether a whole message comes back on a stream of the peer."""
    return any(kind == http2.DATA and payload for kind, _, of, payload in peer.frames(PATIENCE, until=http2.DATA)
               if of == stream)


def on_stream(frames, stream):
    """These frames, as they would be on that stream."""
    moved = b""
    while frames:
        size = 9 + int.from_bytes(frames[:3], "big")
        moved += frames[:5] + stream.to_bytes(4, "big") + frames[9:size]
        frames = frames[size:]
    return moved


class HostilePeersTest(unittest.TestCase):

    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        data = pathlib.Path(cls.scratch.name) / "one.csv"
        data.write_text("1,a\n")
        cls.crew = Crew(JOB.format(data=data), shards=1, workers=0, name="hostile")
        cls.crew.__enter__()
        cls.port = cls.crew.ports("ps-0")["data"]
        cls.view = watch_view(cls.crew.address)
        cls.crew.until(lambda: cls.crew.health("ps-0")["readiness"] == "SERVING", "a shard that serves")

    @classmethod
    def tearDownClass(cls):
        cls.crew.__exit__(None, None, None)
        cls.scratch.cleanup()

    @contextlib.contextmanager
    def unharmed(self, memory=128 * MIB, slowest=5.0):
        """What is done inside must not cost the honest client a push, nor much time, nor the shard more than
        `memory`; and when it is over the shard is at rest."""
        resident = self.crew.resident_bytes("ps-0")
        honest = HonestClient(self.view)
        try:
            yield honest
            grown = self.crew.resident_bytes("ps-0") - resident
            pushes = honest.pushes
            self.crew.until(lambda: honest.error or honest.pushes > pushes + 20, "honest pushes", PATIENCE)
        finally:
            wrong = honest.stop()
        self.assertIsNone(wrong)
        self.assertLess(honest.slowest, slowest)
        self.assertLess(grown, memory)
        self.rests()

    def rests(self):
        for _ in range(10 * PATIENCE):
            cpu = self.crew.cpu_seconds("ps-0")
            time.sleep(0.1)
            if self.crew.cpu_seconds("ps-0") - cpu < 0.02:
                return
        self.fail("the shard does not come to rest")

    # ---- a message that is not what it says ----

    def test_a_name_that_is_not_utf_8(self):
        request = chief_pb2.RegisterWorkerRequest(wire_version=1, name="name", incarnation=7).SerializeToString()
        with grpc.insecure_channel(self.crew.address) as channel:
            register = channel.unary_unary("/capstan.v1.Chief/RegisterWorker")
            for name in (b"\xff\xfe\x80!", b"\xc3\x28..", b"\xed\xa0\x80."):
                with self.assertRaises(grpc.RpcError) as refused:
                    register(request.replace(b"name", name), timeout=PATIENCE)
                # What gRPC 1.51 says when it could not read the message.
                self.assertEqual(refused.exception.code(), grpc.StatusCode.UNIMPLEMENTED)
            self.assertEqual(list(self.crew.status().workers), [])
            register(request, timeout=PATIENCE)
        self.assertEqual([worker.name for worker in self.crew.status().workers], ["name"])

    # ---- not HTTP/2, or not for long ----

    def test_http_1_is_sent_away(self):
        with self.unharmed():
            for request in (b"GET / HTTP/1.1\r\nHost: a\r\n\r\n", b"POST /capstan.v1.Ps/Push HTTP/1.0\r\n\r\n"):
                with Peer(self.port, greet=False) as peer:
                    peer.send(request)
                    self.assertTrue(peer.is_sent_away())

    def test_ten_megabytes_of_noise_are_sent_away(self):
        noise = random.Random(1).randbytes(10 * MIB)
        with self.unharmed():
            for start in (b"", http2.PREFACE):
                with Peer(self.port, greet=False) as peer:
                    peer.send(start + noise)
                    self.assertTrue(peer.is_sent_away())

    def test_tls_is_sent_away(self):
        hello = bytes.fromhex("16 03 01 00 f4 01 00 00 f0 03 03") + random.Random(2).randbytes(233)
        with self.unharmed(), contextlib.ExitStack() as stack:
            for _ in range(1000):  # Handshakes that go no further.
                stack.enter_context(Peer(self.port, greet=False)).send(hello)
            with Peer(self.port, greet=False) as peer:
                peer.send(hello)
                self.assertTrue(peer.is_sent_away())

    def test_a_byte_a_moment_holds_nobody_up(self):
        with self.unharmed(), contextlib.ExitStack() as stack:
            peers = [stack.enter_context(Peer(self.port, greet=False)) for _ in range(100)]
            for byte in http2.PREFACE + frame(http2.SETTINGS) + frame(http2.HEADERS, b"abc", stream=1):
                for peer in peers:
                    peer.send(bytes([byte]))
                time.sleep(0.01)

    def test_ten_thousand_idle_connections_cost_little(self):
        # 16 KiB each was seen. Each is a file of this process and one of the shard.
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        self.assertGreater(hard, 12_000, "the limit of open files (ulimit -Hn) is too low for 10,000 connections")
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        self.addCleanup(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        with self.unharmed(memory=10_000 * 32 * 1024), contextlib.ExitStack() as stack:
            peers = [stack.enter_context(Peer(self.port)) for _ in range(10_000)]
            for peer in peers:  # None was sent away to save the memory.
                peer.send(frame(http2.PING, b"present?"))
                self.assertTrue(any(kind == http2.PING and flags & http2.ACK
                                    for kind, flags, *_ in peer.frames(PATIENCE, until=http2.PING)))

    def test_more_connections_than_a_process_may_have_do_not_deafen_its_ports(self):
        for name in ("ps-0", "chief"):
            limits = resource.prlimit(self.crew.processes[name].pid, resource.RLIMIT_NOFILE)
            self.assertEqual(*limits)  # The process has raised it.
            with self.subTest(name), self.crew.room_for(name, 60) as has_room:
                for port in (self.crew.ports(name)["data"], self.crew.ports(name)["health"]):
                    with self.unharmed(), contextlib.ExitStack() as stack:
                        for _ in range(200):
                            stack.enter_context(Peer(port))
                        time.sleep(0.5)
                        self.assertTrue(has_room())
                        if name == "chief":
                            self.crew.until(lambda: "turns connections away above" in self.crew.log(name), "the status's warning")
                    self.crew.until(lambda: self.crew.health(name)["liveness"] == "SERVING", "health", PATIENCE)
                    with self.unharmed():  # Connections that are made now are served.
                        self.crew.hang_up()
                        self.assertEqual(len(self.crew.status().shards), 1)
                for said in ("nearly as many files and connections are open", "too many files and connections open"):
                    self.assertIn(said, self.crew.log(name))

    # ---- floods ----

    def flood(self, data, **limits):
        """Sends `data(i)` without a pause from 4 connections, each opened again when it is closed: how often."""
        ended = multiprocessing.Value("i", 0)
        with self.unharmed(**limits):
            processes = [multiprocessing.Process(target=send_for, args=(self.port, data, 3, ended))
                         for _ in range(4)]
            for process in processes:
                process.start()
            for process in processes:
                process.join()
        return ended.value

    def test_a_flood_of_streams_that_are_reset_at_once(self):
        # Each begins a push that would count, and takes it back before its last byte.
        honest = HonestClient(self.view)
        push = http2.message(honest.push(SESSION_BIT | random.getrandbits(60)).SerializeToString())[:-1]
        self.assertIsNone(honest.stop())

        def streams(i):
            return b"".join(
                frame(http2.HEADERS, http2.call_headers(PUSH), http2.END_HEADERS, stream)
                + frame(http2.DATA, push, stream=stream)
                + frame(http2.RST_STREAM, struct.pack(">I", 8), stream=stream)
                for stream in range(200 * i + 1, 200 * i + 200, 2))

        self.assertGreater(self.flood(streams, slowest=PATIENCE, memory=256 * MIB), 0, "nobody was sent away")
        self.assertIn("calls were reset faster than they end", self.crew.log("ps-0"))

    def test_a_flood_of_streams_that_the_server_is_made_to_reset(self):
        # "Made you reset": the peer resets nothing, but breaks a rule of each stream that it has begun.
        beyond = struct.pack(">I", (1 << 31) - 1)
        for name, mistake in (("a window that grows by nothing", frame(http2.WINDOW_UPDATE, bytes(4))),
                              ("a window that overflows", 2 * frame(http2.WINDOW_UPDATE, beyond)),
                              ("data behind the end", frame(http2.DATA, b"", http2.END_STREAM)
                               + frame(http2.DATA, http2.message(b"more")))):
            def streams(i, mistake=mistake):
                return b"".join(
                    frame(http2.HEADERS, http2.call_headers(PUSH), http2.END_HEADERS, stream)
                    + on_stream(mistake, stream) for stream in range(200 * i + 1, 200 * i + 200, 2))

            with self.subTest(name):
                self.flood(streams, slowest=PATIENCE, memory=256 * MIB)

    def test_a_flood_of_pings_is_sent_away(self):
        pings = frame(http2.PING, b"12345678") * 1000
        self.flood(lambda i: pings, memory=512 * MIB)
        with Peer(self.port) as peer:
            peer.send(pings)
            self.assertTrue(peer.is_sent_away())

    def test_a_flood_of_settings(self):
        settings = frame(http2.SETTINGS, struct.pack(">HI", 4, 1 << 20)) * 1000
        self.flood(lambda i: settings)

    def test_headers_without_end(self):
        # gRPC 1.51 may keep them as long as the connection is open, see docs/bad-input.md: and no longer.
        endless = b"".join(http2.field(b"x-%d" % i, b"y" * 100) for i in range(100))
        with self.unharmed():
            for _ in range(4):
                with Peer(self.port) as peer:
                    peer.send(frame(http2.HEADERS, http2.call_headers(PUSH), stream=1))
                    for _ in range(64 * MIB // len(endless)):
                        if not peer.send(frame(http2.CONTINUATION, endless, stream=1)):
                            break

    def test_headers_whose_end_comes_too_late_make_no_call(self):
        long = b"".join(http2.field(b"x-%d" % i, b"y" * 100) for i in range(150))
        with self.unharmed() as honest, Peer(self.port) as peer:
            peer.send(frame(http2.HEADERS, http2.call_headers(PUSH), stream=1)
                      + frame(http2.CONTINUATION, long, stream=1)
                      + frame(http2.CONTINUATION, long, http2.END_HEADERS, stream=1)
                      + frame(http2.DATA, http2.message(honest.push(SESSION_BIT | 1).SerializeToString()),
                              http2.END_STREAM, stream=1))
            self.assertTrue(any(kind in (None, http2.GOAWAY, http2.RST_STREAM)
                                or kind == http2.HEADERS and flags & http2.END_STREAM and stream == 1
                                for kind, flags, stream, _ in peer.frames(PATIENCE)), "neither refused nor ended")

    def test_headers_above_the_limit_with_a_te_that_is_none(self):
        def headers(scheme=b"http", te=b"trailers", more=b""):
            return (http2.field(b":method", b"POST") + http2.field(b":scheme", scheme)
                    + http2.field(b":path", PUSH.encode()) + http2.field(b":authority", b"localhost")
                    + http2.field(b"te", te) + http2.field(b"content-type", b"application/grpc") + more)
        large = b"".join(http2.field(b"x-%d" % i, b"y" * 100) for i in range(90))
        with self.unharmed():
            for nonsense in (headers(te=b"x"), headers(scheme=b"x"),
                             headers(more=http2.field(b"grpclb_client_stats", b"x"))):
                with Peer(self.port) as peer:
                    peer.send(frame(http2.HEADERS, nonsense + large, http2.END_HEADERS | http2.END_STREAM, 1))
                    answers = {kind for kind, _, stream, _ in peer.frames(5, until=http2.RST_STREAM) if stream == 1}
                    self.assertTrue(answers & {http2.RST_STREAM, http2.HEADERS}, "neither answered nor refused")

    def test_more_streams_than_one_connection_may_have(self):
        with self.unharmed(), Peer(self.port) as peer:
            for i in range(10_000):
                if not peer.call(2 * i + 1, PUSH):
                    break
            time.sleep(0.5)

    # ---- one at a time ----

    def test_a_window_that_overflows(self):
        for stream in (0, 1):
            with self.unharmed() as honest, Peer(self.port) as peer:
                pull = honest.pull().SerializeToString()
                peer.send(frame(http2.HEADERS, http2.call_headers(PULL), http2.END_HEADERS, 1))
                for _ in range(3):
                    peer.send(frame(http2.WINDOW_UPDATE, struct.pack(">I", 0x7FFFFFFF), stream=stream))
                peer.send(frame(http2.DATA, http2.message(pull), http2.END_STREAM, 1))
                self.assertTrue(answered(peer, 1), "the call under way")
                peer.call(3, PULL, pull)
                self.assertTrue(answered(peer, 3), "the next one")

    def test_compressed_messages_are_refused_before_they_are_unpacked(self):
        bomb = gzip.compress(bytes(1 << 30), 1)
        with self.unharmed() as honest:
            with self.assertRaises(grpc.RpcError) as caught:
                honest.pull_call(honest.pull(), timeout=10, compression=grpc.Compression.Gzip)
            self.assertEqual(caught.exception.code(), grpc.StatusCode.UNIMPLEMENTED)
            for encoding in (b"", http2.field(b"grpc-encoding", b"gzip")):
                with Peer(self.port) as peer:
                    peer.send(frame(http2.HEADERS, http2.call_headers(PULL, encoding), http2.END_HEADERS, 1))
                    body = http2.message(bomb, compressed=True)
                    for at in range(0, len(body), 16000):
                        if not peer.send(frame(http2.DATA, body[at:at + 16000], stream=1)):
                            break
                    peer.send(frame(http2.DATA, flags=http2.END_STREAM, stream=1))
                    self.assertTrue(any(flags & http2.END_STREAM or kind == http2.RST_STREAM
                                        for kind, flags, stream, _ in peer.frames(5) if stream == 1))

    def test_a_client_that_goes_in_the_middle_of_its_message_is_forgotten(self):
        with self.unharmed() as honest:
            half = http2.message(honest.pull(100_000).SerializeToString())[:50_000]
            for ending in (b"", frame(http2.RST_STREAM, struct.pack(">I", 8), stream=1)):
                for _ in range(100):
                    with Peer(self.port) as peer:
                        peer.send(frame(http2.HEADERS, http2.call_headers(PULL), http2.END_HEADERS, 1)
                                  + b"".join(frame(http2.DATA, half[at:at + 16000], stream=1)
                                             for at in range(0, len(half), 16000)) + ending)

    def test_replies_that_nobody_reads_are_bounded(self):
        # 780 MB of replies are asked for; a shard holds 512 MiB of them and refuses the rest.
        with self.unharmed(memory=768 * MIB, slowest=PATIENCE) as honest, contextlib.ExitStack() as stack:
            request = honest.pull_of_rows(25_000)
            peers = [stack.enter_context(Peer(self.port, window=0)) for _ in range(4)]
            for i in range(30):
                for peer in peers:
                    self.assertTrue(peer.call(2 * i + 1, PULL, request.SerializeToString()))
            refusals, deadline = 0, time.monotonic() + PATIENCE
            while refusals <= 20 and time.monotonic() < deadline:
                for peer in peers:
                    refusals += sum(kind == http2.HEADERS and flags & http2.END_STREAM > 0
                                    for kind, flags, *_ in peer.frames(seconds=0.2))
            self.assertGreater(refusals, 20)
            self.assertGreater(self.crew.resident_bytes("ps-0"), 400 * MIB, "nothing was held back")
            # Who answers no ping either is gone after 15 s, and with it what was held for it.
            self.assertTrue(all(peer.is_sent_away(PATIENCE) for peer in peers))
            honest.pull_call(request, timeout=PATIENCE)

    def test_a_deadline_that_is_over_ends_the_call(self):
        with self.unharmed() as honest, Peer(self.port) as peer:
            for stream, timeout in ((1, b"1n"), (5, b"0n")):
                push = honest.push(SESSION_BIT | random.getrandbits(60)).SerializeToString()
                over = http2.call_headers(PUSH, http2.field(b"grpc-timeout", timeout))
                peer.send(frame(http2.HEADERS, over, http2.END_HEADERS, stream)
                          + frame(http2.DATA, http2.message(push), http2.END_STREAM, stream))
                self.assertTrue(any(of == stream and (kind == http2.RST_STREAM or flags & http2.END_STREAM)
                                    for kind, flags, of, _ in peer.frames(PATIENCE)), timeout)
                # Whether it came to be applied or not: repeated, it counts once. The connection goes on.
                peer.call(stream + 2, PUSH, push)
                self.assertTrue(answered(peer, stream + 2), timeout)
                honest.others += 1


if __name__ == "__main__":
    unittest.main(verbosity=2)
