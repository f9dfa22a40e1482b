"""A TCP port that is kept for one test while nobody listens on it: for a server that is killed and started again at the
same address, and for an address where nobody may be found."""

import socket


class HeldPort:
    """A process that asks for any free port is never given this one; a process that names it may listen on it.

    The socket is bound and does not listen. Linux gives a bound port to nobody who binds port 0 or connects, and lets
    another socket listen on it by name if both have SO_REUSEADDR, which gRPC, Go and Python's servers set
    (`inet_csk_bind_conflict` in net/ipv4/inet_connection_sock.c)."""

    def __init__(self, host="127.0.0.1"):
        self._socket = socket.socket()
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self._socket.bind((host, 0))
        self.number = self._socket.getsockname()[1]
        self.address = f"{host}:{self.number}"

    def close(self):
        self._socket.close()
