"""A cluster as a program outside of it sees one: kubectl in PATH, and a chief that tells names of pods, which nothing here resolves.
The job's processes are those of a crew on loopback, and know each other by their ports."""

import json
import os
import pathlib
import tempfile
import time
from concurrent import futures
from unittest import mock

import grpc

from crew import chief_pb2, view_pb2
from python_data import ROOT

RELEASE, NAMESPACE = "ctr", "training"
SHARD = "ctr-ps-%d.ctr-ps.training.svc.cluster.local:%s"


def is_alive(process):
    """Also false of one that has ended and that nobody has waited for."""
    try:
        return pathlib.Path(f"/proc/{process}/cmdline").read_bytes() != b""
    except OSError:
        return False


class FakeCluster:
    """While it is entered, kubectl in PATH is the fake one, and this program runs in no pod."""

    def __enter__(self):
        self._scratch = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self._scratch.name)
        (self.folder / "kubectl").symlink_to(ROOT / "tests/python/fake_kubectl.py")
        self._environment = mock.patch.dict(os.environ, {
            "PATH": f"{self.folder}:{os.environ['PATH']}", "FAKE_CLUSTER": self._scratch.name})
        self._environment.start()
        os.environ.pop("KUBERNETES_SERVICE_HOST", None)
        return self

    def __exit__(self, *_):
        self._environment.stop()
        self._scratch.cleanup()

    def put(self, resource, port):
        self._add("targets.json", resource, port)

    def refuse(self, resource, text):
        """None: not any more."""
        self._add("refusals.json", resource, text)

    def _add(self, name, resource, value):
        path = self.folder / name
        known = json.loads(path.read_text()) if path.exists() else {}
        (self.folder / "fresh").write_text(json.dumps({**known, resource: value}))
        os.replace(self.folder / "fresh", path)

    def calls(self, resource=""):
        """(process, arguments) of each kubectl so far, in their order; of those for one resource."""
        path = self.folder / "calls"
        lines = path.read_text().splitlines() if path.exists() else []
        calls = [(int(line.split(" ")[0]), line.split(" ")[1:]) for line in lines]
        return [call for call in calls if not resource or resource in call[1]]

    def alive(self, resource=""):
        return [process for process, _ in self.calls(resource) if is_alive(process)]

    def until_alive(self, count, resource="", timeout=10):
        deadline = time.monotonic() + timeout
        while len(self.alive(resource)) != count:
            if time.monotonic() > deadline:
                raise AssertionError(f"{len(self.alive(resource))} of kubectl are alive, and not {count}: {self.calls(resource)}")
            time.sleep(0.05)


class ChiefInCluster(grpc.GenericRpcHandler):
    """A chief's calls, answered by that of a crew, but for the shards' addresses. `credentials`: of a server, if it speaks TLS;
    `connect()` makes a channel to the crew's chief."""

    def __init__(self, connect, credentials=None):
        self._channel = connect()
        self._server = grpc.server(futures.ThreadPoolExecutor(8), handlers=[self])
        self.port = (self._server.add_insecure_port("127.0.0.1:0") if credentials is None else
                     self._server.add_secure_port("127.0.0.1:0", credentials))
        self._server.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._server.stop(None).wait()
        self._channel.close()

    def service(self, handler_call_details):
        method = handler_call_details.method
        if method.endswith("/WatchView"):
            return grpc.unary_stream_rpc_method_handler(lambda request, context: self._views(method, request, context))
        return grpc.unary_unary_rpc_method_handler(lambda request, context: self._ask(method, request, context))

    def _ask(self, method, request, context):
        try:
            return self._channel.unary_unary(method)(request, timeout=5)
        except grpc.RpcError as error:
            context.abort(error.code(), error.details())

    def _views(self, method, request, context):
        whole = chief_pb2.WatchViewRequest.FromString(request)
        whole.differences = False  # Of a difference the addresses could not be told.
        views = self._channel.unary_stream(method)(whole.SerializeToString())
        context.add_callback(views.cancel)
        try:
            for text in views:
                view = view_pb2.View.FromString(text)
                for shard in view.shards:
                    shard.address = SHARD % (shard.index, shard.address.rpartition(":")[2])
                yield view.SerializeToString()
        except grpc.RpcError as error:
            context.abort(error.code(), error.details())
