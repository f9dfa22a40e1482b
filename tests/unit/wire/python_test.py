"""The wire is plain protobuf: protoc's Python classes read what our writer writes, and write what
our reader reads.

usage: python_test.py PROTO_FOLDER WIRE_ECHO
"""

import pathlib
import struct
import subprocess
import sys
import tempfile


def generate(protos: pathlib.Path, to: str) -> None:
    files = [str(p) for p in (protos / "capstan" / "v1").glob("*.proto")]
    subprocess.run(["protoc", f"-I{protos}", f"--python_out={to}", *files], check=True)


def sample(ps_pb2):
    push = ps_pb2.PushRequest()
    push.header.wire_version = 1
    push.header.epoch.term = 2
    push.header.target_incarnation = 2**64 - 1
    push.stream.stream = 7
    push.stream.seq = 300
    push.examples = 1024
    for number in range(40):
        partition = push.partitions.add()
        partition.partition = number
        partition.dense_version = number << 40
        partition.sparse_version = 2**64 - 1 - number
        table = partition.tables.add()
        table.table = number % 3
        table.keys = struct.pack("<3Q", number, 2**64 - 1, 0)
        table.values = struct.pack("<6f", *(number + i / 7 for i in range(6)))
        table.updates = struct.pack("<3I", number, 2**32 - 1, 0)
        block = partition.blocks.add()
        block.block = number
        block.values = struct.pack("<f", 1.5) * 9000
        block.pulled = struct.pack("<f", -1.5) * 9000
    return push


def main() -> int:
    protos, echo = pathlib.Path(sys.argv[1]), sys.argv[2]
    with tempfile.TemporaryDirectory() as folder:
        generate(protos, folder)
        sys.path.insert(0, folder)
        from capstan.v1 import ps_pb2

        sent = sample(ps_pb2)
        reply = subprocess.run(
            [echo], input=sent.SerializeToString(), stdout=subprocess.PIPE, check=True
        ).stdout
        received = ps_pb2.PushRequest.FromString(reply)
        if received != sent:
            print("what came back differs from what was sent")
            return 1
        if reply == sent.SerializeToString():
            print("expected the padded versions of our writer, got the bytes that were sent")
            return 1
    print("ok")
    return 0


if __name__ == "__main__":
    sys.exit(main())
