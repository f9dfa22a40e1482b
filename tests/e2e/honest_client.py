"""A client that does nothing wrong, beside peers that do.

It pushes to one element of a dense tensor with SGD of rate 1: after n acknowledged pushes that is n more than before.
"""

import random
import struct
import threading
import time

import grpc

from crew import ps_pb2

MIB = 1 << 20
PATIENCE = 30  # Seconds; of a client on a machine that has other things to do.
SESSION_BIT = 1 << 63


class HonestClient:
    """Pushes without a pause until it is stopped. Each push must be acknowledged."""

    def __init__(self, view):
        self.view, self.pushes, self.slowest, self.error = view, 0, 0.0, None
        self.others = 0  # Pushes by others that are to count.
        self.stream = SESSION_BIT | random.getrandbits(60)
        self.channel = grpc.insecure_channel(view.shards[0].address,
                                             [("grpc.max_receive_message_length", 64 * MIB)])
        self.push_call = self._method("Push", ps_pb2.PushRequest, ps_pb2.PushReply)
        self.pull_call = self._method("Pull", ps_pb2.PullRequest, ps_pb2.PullReply)
        self.partition = next(p for p in range(len(view.owners)) if self._holds_block(p))
        self.first_value = self.value()
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def stop(self):
        """What is wrong with the parameters, or None."""
        self.stopping.set()
        self.thread.join()
        counted = self.value() - self.first_value
        self.channel.close()
        if self.error is not None:
            return str(self.error)
        pushes = self.pushes + self.others
        return None if counted == pushes else f"{pushes} pushes were counted as {counted}"

    def header(self):
        return ps_pb2.PullRequest(header={
            "wire_version": 1, "epoch": self.view.epoch, "timeline": self.view.timeline,
            "target_incarnation": self.view.shards[0].incarnation}).header

    def pull(self, times=1):
        """Of the element; `times` makes the reply large."""
        return ps_pb2.PullRequest(header=self.header(), partitions=[
            {"partition": self.partition, "blocks": [0] * times}])

    def push(self, stream, seq=0):
        """Of one more to the element."""
        return ps_pb2.PushRequest(
            header=self.header(), stream={"stream": stream, "seq": seq, "low_watermark": seq},
            partitions=[{"partition": self.partition, "blocks": [{"block": 0, "values": struct.pack("<f", -1)}]}])

    def pull_of_rows(self, count):
        """One row, again and again: 260 bytes each."""
        request = ps_pb2.PullRequest(header=self.header())
        partition = request.partitions.add()
        rows = partition.tables.add(table=0, keys=struct.pack("<Q", 7))
        for partition.partition in range(len(self.view.owners)):
            try:
                self.pull_call(request, timeout=10)
                break
            except grpc.RpcError as error:
                if error.code() != grpc.StatusCode.FAILED_PRECONDITION:  # The row lives elsewhere.
                    raise
        rows.keys *= count
        return request

    def value(self):
        reply = self.pull_call(self.pull(), timeout=PATIENCE)
        return struct.unpack("<f", reply.partitions[0].blocks[0].values)[0]

    def _method(self, name, request, reply):
        return self.channel.unary_unary(f"/capstan.v1.Ps/{name}", request_serializer=request.SerializeToString,
                                        response_deserializer=reply.FromString)

    def _holds_block(self, partition):
        try:
            self.pull_call(ps_pb2.PullRequest(header=self.header(), partitions=[
                {"partition": partition, "blocks": [0]}]), timeout=10)
            return True
        except grpc.RpcError as error:
            if error.code() != grpc.StatusCode.NOT_FOUND:
                raise
            return False

    def _run(self):
        while not self.stopping.is_set():
            began = time.monotonic()
            try:
                self.push_call(self.push(self.stream, self.pushes), timeout=PATIENCE)
            except grpc.RpcError as error:
                self.error = error
                return
            self.pushes += 1
            self.slowest = max(self.slowest, time.monotonic() - began)
            time.sleep(0.002)
