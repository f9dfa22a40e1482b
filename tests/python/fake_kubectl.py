#!/usr/bin/python3
"""What tests have in PATH as kubectl: `port-forward` to processes of this machine. Of the folder $FAKE_CLUSTER it

- adds a line to `calls`: its process, and its arguments;
- reads `targets.json`, {resource: port}: where a resource is; a pod that is not in it is at the port that is asked for;
- reads `refusals.json`, {resource: text}: what it says on standard error, and ends, in place of forwarding."""

import json
import os
import pathlib
import socket
import sys
import threading

FOLDER = pathlib.Path(os.environ["FAKE_CLUSTER"])


def read(name):
    path = FOLDER / name
    return json.loads(path.read_text()) if path.exists() else {}


def copy(source, target):
    try:
        while data := source.recv(1 << 16):
            target.sendall(data)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        source.close()
        target.close()


def main():
    words = sys.argv[1:]
    with open(FOLDER / "calls", "a", encoding="utf-8") as calls:
        calls.write(f"{os.getpid()} {' '.join(words)}\n")
    resource, port = words[-2], words[-1].removeprefix(":")
    if (refusal := read("refusals.json").get(resource)) is not None:
        print(refusal, file=sys.stderr)
        sys.exit(1)
    target = read("targets.json").get(resource, int(port))
    with socket.create_server(("127.0.0.1", 0)) as server:
        at = server.getsockname()[1]
        print(f"Forwarding from 127.0.0.1:{at} -> {target}", flush=True)
        while True:
            client, _ = server.accept()
            print(f"Handling connection for {at}", flush=True)
            try:
                pod = socket.create_connection(("127.0.0.1", target))
            except OSError:
                sys.exit("error: lost connection to pod")
            for pair in ((client, pod), (pod, client)):
                threading.Thread(target=copy, args=pair, daemon=True).start()


if __name__ == "__main__":
    main()
