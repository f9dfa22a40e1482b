"""Lets a program outside of the cluster reach the processes of a job on Kubernetes, through kubectl.

A job's chief and shards know each other by names of the cluster's own network, and the chief names the shards in the same way to every
client. Outside of the cluster these names do not resolve. `kubectl port-forward` opens a port of this machine that leads to one pod, with
the rights that the user has anyway. So the client of a job gets a resolver (AddressResolver of capstan/client). Before every call, it asks
the resolver for the addresses at which it can reach the chief and the shards that the call needs:

- `PortForwards` is that resolver. It has one `Forward` for each address that the client has asked for: that of the chief's Service, and
  those of shards' pods. There is none for a shard that the client has never called. When the client hears from the chief that a process
  has left the job or was replaced (`forget`), the Forward to it is ended, and a new one is made for the pod that has come in its place.
  All are made anew after a call has run out of patience: this machine may have slept, and a kubectl that hangs looks like one that works.
- `Forward` keeps one kubectl running for as long as the client asks for its address. kubectl ends when it loses its pod. It is then
  started again at the next question, after a pause that grows with each failure. So no process is started for a client that makes no
  calls, such as that of a notebook which is open overnight. If patience ends, the user reads what kubectl said last.
- `Kubectl` is one process of kubectl. It listens on any free port, so no port has to be chosen that another program may take meanwhile.

No question waits: the answer is an address, or the reason why there is none yet, and the client asks again until its patience is over.

All kubectl processes end with the client: when it is garbage-collected, when the interpreter exits, and when the program is killed. For the
last case a shell runs beside each kubectl. It reads from a pipe of which only this program has the other end, and ends kubectl and itself
when the pipe is closed.

kubectl uses its own configuration: KUBECONFIG or ~/.kube/config, and the current context or the one that is named. The ports listen on
127.0.0.1 only. As with any port-forward, everybody who can log in to this machine can use them meanwhile. With TLS both ends check each
other's certificates as in the cluster, because certificates name roles and not addresses.
"""

import contextlib
import os
import re
import shutil
import signal
import subprocess
import threading
import time
import weakref

from capstan_ps.kubernetes import pod_of, service_of

# Starts kubectl in the background, in the process group of this shell. Then the shell closes kubectl's output for itself, and kills the
# group when its own input ends.
GUARD = 'kubectl "$@" </dev/null & exec >/dev/null 2>&1; read -r _; kill -s KILL 0'
FORWARDS = re.compile(r"Forwarding from 127\.0\.0\.1:(\d+) -> ")
FIRST_PAUSE, LONGEST_PAUSE = 0.2, 2.0  # Seconds between the end of a kubectl and the next one.
LONGEST_LINE = 500
END_SECONDS = 5


class PortForwards:
    """The resolver of a client. Confined to one thread at a time, like the client."""

    def __init__(self, chief, context=None):
        """`chief` is an address that `chief_of` has returned. RuntimeError: there is no kubectl."""
        if shutil.which("kubectl") is None:
            raise RuntimeError("outside of the cluster the job is reached through kubectl, and there is none in PATH; install it, or run this "
                               "program in a pod")
        self._chief, self._context, self._forwards = chief, context, {}
        # Ends all forwards. Runs when this object is garbage-collected or the interpreter exits, unless it was called before.
        self.close = weakref.finalize(self, _end_all, self._forwards)

    def resolve(self, address):
        """Returns the host:port at which `address` can be reached now. ConnectionError: there is none yet; the message says why.
        LookupError: there is no such release. PermissionError: the user may not forward ports."""
        if not self.close.alive:
            raise ConnectionError("the client has ended")
        if address not in self._forwards:
            resource, namespace, port = service_of(address) if address == self._chief else pod_of(address)
            chosen = [*(("--context", self._context) if self._context else ()), *(("--namespace", namespace) if namespace else ())]
            self._forwards[address] = Forward(resource, port, chosen)
        return self._forwards[address].address()

    def forget(self, address):
        """The process at the address has ended, or does not answer: its forward is ended."""
        forward = self._forwards.pop(address, None)
        if forward is not None:
            forward.end()


def _end_all(forwards):
    while forwards:
        forwards.popitem()[1].end()


class Forward:
    """A port of this machine that leads to a Service or a pod of the cluster. Confined to one thread at a time."""

    def __init__(self, resource, port, chosen):
        """`chosen`: options of kubectl that name the context and the namespace of the resource."""
        self._resource = resource
        self._words = [*chosen, "port-forward", "--address=127.0.0.1", resource, f":{port}"]
        self._kubectl, self._failures, self._again_at = None, 0, 0.0
        self._why = "it does not forward yet"

    def address(self):
        """Returns or raises what PortForwards.resolve does."""
        if self._kubectl is None and time.monotonic() >= self._again_at:
            self._kubectl = Kubectl(self._words)
        if self._kubectl is None:
            raise ConnectionError(self._line())
        if self._kubectl.ended:
            raise self._failure()
        if self._kubectl.port is None:
            raise ConnectionError(self._line())
        self._failures = 0
        return f"127.0.0.1:{self._kubectl.port}"

    def end(self):
        if self._kubectl is not None:
            self._kubectl.end()
            self._kubectl = None

    def _line(self):
        return f"kubectl port-forward {self._resource}: {self._why}"

    def _failure(self):
        """Returns the error to raise after kubectl has ended. After a pause, a later question starts another kubectl. A missing pod may yet
        come; a missing Service means that there is no such release."""
        self._why = self._kubectl.said or "it has ended, and does not say why"
        self.end()
        self._again_at = time.monotonic() + min(LONGEST_PAUSE, FIRST_PAUSE * 2**self._failures)
        self._failures = min(self._failures + 1, 10)
        if re.search(r"\(Forbidden\)|\bis forbidden\b|Unauthorized", self._why):
            return PermissionError(self._line())
        if "(NotFound)" in self._why and self._resource.startswith("service/"):
            return LookupError(self._line())
        return ConnectionError(self._line())


class Kubectl:
    """A running kubectl. A thread reads its output and sets `port`, which is None until kubectl forwards; `said`, the last line about
    anything else; and `ended`."""

    def __init__(self, words):
        self.port, self.said, self.ended = None, "", False
        self._owner = os.getpid()
        # In a session of its own it gets no signal from Ctrl-C.
        self._guard = subprocess.Popen(["/bin/sh", "-c", GUARD, "sh", *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                       stderr=subprocess.STDOUT, text=True, errors="replace", start_new_session=True)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self._guard.stdout:
            line = line.strip()
            if forwards := FORWARDS.match(line):
                self.port = int(forwards[1])
            elif line and not line.startswith("Handling connection for "):
                self.said = line[:LONGEST_LINE]
        self.ended = True

    def end(self):
        """Ends kubectl. May be called again, and if kubectl has ended. Does nothing in a process that was forked from this one."""
        if self._guard.returncode is not None or os.getpid() != self._owner:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._guard.pid, signal.SIGKILL)  # The guard was not waited for, so its group id is not reused yet.
        self._guard.stdin.close()
        self._guard.wait(END_SECONDS)
        if self._reader is not threading.current_thread():  # The garbage collector may run on the reader.
            self._reader.join(END_SECONDS)
            self._guard.stdout.close()
