"""Raw HTTP/2, as far as a peer that means harm needs it: frames are built by hand, so that they may be wrong,
too many, or never end."""

import socket
import struct
import time

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = 0, 1, 3, 4, 6, 7, 8, 9
END_STREAM, ACK, END_HEADERS = 1, 1, 4


def frame(kind, payload=b"", flags=0, stream=0):
    return len(payload).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big") + payload


def field(name, value):
    """A header field, literal and not to be remembered. Both are shorter than 127 bytes."""
    return b"\x00" + bytes([len(name)]) + name + bytes([len(value)]) + value


def call_headers(path, extra=b""):
    """What opens a gRPC call; without END_HEADERS's frame around it."""
    return (field(b":method", b"POST") + field(b":scheme", b"http") + field(b":path", path.encode())
            + field(b":authority", b"localhost") + field(b"te", b"trailers")
            + field(b"content-type", b"application/grpc") + extra)


def message(body, compressed=False):
    """A gRPC message as DATA frames carry it."""
    return struct.pack(">BI", compressed, len(body)) + body


class Peer:
    """A connection to a server that has exchanged prefaces."""

    def __init__(self, port, greet=True, window=65535):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=10)
        self.buffer = b""  # The beginning of a frame.
        if greet:
            initial_window = struct.pack(">HI", 4, window)
            self.socket.sendall(PREFACE + frame(SETTINGS, initial_window))
            # What the server allows holds from when it hears that it has been heard.
            for _ in self.frames(seconds=30, until=SETTINGS):
                pass
            self.send(frame(SETTINGS, flags=ACK))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, data):
        """False: the server has closed the connection, or takes no more for 2 s."""
        self.socket.settimeout(2)
        try:
            self.socket.sendall(data)
            return True
        except OSError:
            return False

    def call(self, stream, path, body=None):
        """Opens a call; with a body, the whole request."""
        data = frame(HEADERS, call_headers(path), END_HEADERS, stream)
        if body is not None:
            data += frame(DATA, message(body), END_STREAM, stream)
        return self.send(data)

    def frames(self, seconds=2, until=None):
        """(kind, flags, stream, payload) of what arrives; ends with (None, 0, 0, b"") when the server closes the
        connection, after `seconds`, or with the first frame of kind `until`."""
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            self.socket.settimeout(left)
            try:
                more = self.socket.recv(1 << 16)
            except TimeoutError:
                return
            except OSError:
                more = b""
            if not more:
                yield None, 0, 0, b""
                return
            self.buffer += more
            while (found := self._next_frame()) is not None:
                yield found
                if found[0] == until:
                    return

    def _next_frame(self):
        size = 9 + int.from_bytes(self.buffer[:3], "big")
        if len(self.buffer) < max(9, size):
            return None
        head, payload, self.buffer = self.buffer[:9], self.buffer[9:size], self.buffer[size:]
        return head[3], head[4], int.from_bytes(head[5:], "big"), payload

    def is_sent_away(self, seconds=5):
        """Whether the server says GOAWAY or closes the connection."""
        return any(kind in (GOAWAY, None) for kind, *_ in self.frames(seconds))
