"""The processes of a job on Kubernetes, as a program outside of the cluster reaches them: through kubectl.

A job's chief and shards know each other by names of the cluster's own network, and the chief tells those to whoever asks where
the parameters are. Outside, nothing answers to these names. `kubectl port-forward` opens a port of this machine that leads to one
pod, with the rights that the user has anyway. So the client of a job is given a resolver (AddressResolver of capstan/client), which
it asks, before every call, where the chief and the shards that the call needs are to be dialled:

- `PortForwards` is that resolver. It has a `Forward` for each address asked for: for the chief's Service, and for each shard's pod.
  None is made for a shard of which nobody wants anything. One whose process has left the job, or was replaced, is ended when the
  client hears of it from the chief (`forget`), and made anew for the pod that has come in its place. All are made anew after a call
  whose patience is over: this machine may have slept, and a kubectl that hangs looks like one that forwards.
- `Forward` keeps one kubectl alive for as long as it is asked for: kubectl ends when it loses its pod, and is started again at
  the next question, a little later each time it fails. Nothing is started for a client that wants nothing, such as that of a
  notebook which is open overnight. What kubectl said as it ended is the reason that the user reads if patience ends.
- `Kubectl` is one process of it. It takes any free port, so that nothing has to be agreed on and no port is dialled that another
  program may have taken meanwhile.

No question waits: it is answered by an address or by a reason, and the client asks again until its patience is over.

All ends with the client: when it is garbage, when the interpreter exits, and when it is killed. For the last of these, each kubectl
runs beside a shell that reads from a pipe which this program alone holds, and ends both when that is closed, by whomever.

kubectl goes by its own configuration: KUBECONFIG or ~/.kube/config, and the present context or the one that is named. Whoever
may log in to this machine can use the ports meanwhile, as those of any port-forward; they listen on 127.0.0.1 only. With
TLS both ends check each other's certificates as they do in the cluster, as these name roles, and not addresses.
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

# Beside kubectl, in a process group of their own: lets go of what kubectl writes to, and ends the group with its own input.
GUARD = 'kubectl "$@" </dev/null & exec >/dev/null 2>&1; read -r _; kill -s KILL 0'
FORWARDS = re.compile(r"Forwarding from 127\.0\.0\.1:(\d+) -> ")
FIRST_PAUSE, LONGEST_PAUSE = 0.2, 2.0  # Seconds between the end of a kubectl and the next one.
LONGEST_LINE = 500
END_SECONDS = 5


class PortForwards:
    """Confined to one thread at a time, as the client that asks is."""

    def __init__(self, chief, context=None):
        """`chief` is an address of `chief_of`. RuntimeError: there is no kubectl."""
        if shutil.which("kubectl") is None:
            raise RuntimeError("outside of the cluster the job is reached through kubectl, and there is none in PATH; install it, or run this "
                               "program in a pod")
        self._chief, self._context, self._forwards = chief, context, {}
        # Ends all; called when this object is garbage or the interpreter exits, if not before.
        self.close = weakref.finalize(self, _end_all, self._forwards)

    def resolve(self, address):
        """host:port to dial now. ConnectionError: none yet, and why. LookupError: there is no such release. PermissionError: the
        user may not do this."""
        if not self.close.alive:
            raise ConnectionError("the client has ended")
        if address not in self._forwards:
            resource, namespace, port = service_of(address) if address == self._chief else pod_of(address)
            chosen = [*(("--context", self._context) if self._context else ()), *(("--namespace", namespace) if namespace else ())]
            self._forwards[address] = Forward(resource, port, chosen)
        return self._forwards[address].address()

    def forget(self, address):
        """The process there has gone, or does not answer."""
        forward = self._forwards.pop(address, None)
        if forward is not None:
            forward.end()


def _end_all(forwards):
    while forwards:
        forwards.popitem()[1].end()


class Forward:
    """A port of this machine that leads to a Service or a pod of the cluster. Confined to one thread at a time."""

    def __init__(self, resource, port, chosen):
        """`chosen`: options of kubectl that say where the resource is."""
        self._resource = resource
        self._words = [*chosen, "port-forward", "--address=127.0.0.1", resource, f":{port}"]
        self._kubectl, self._failures, self._again_at = None, 0, 0.0
        self._why = "it does not forward yet"

    def address(self):
        """As PortForwards.resolve."""
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
        """kubectl has ended: what to raise, once; later questions start another one. A pod that is not there may be on its
        way; a Service that is not there is none of the chart."""
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
    """kubectl at work. `port` is None until it forwards, and `said` the last line that it has written of anything else. A thread
    reads what it writes, and sets them and `ended`."""

    def __init__(self, words):
        self.port, self.said, self.ended = None, "", False
        self._owner = os.getpid()
        # In a session of its own it does not hear of Ctrl-C.
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
        """Also of one that has ended. A process that this one has forked leaves it alone."""
        if self._guard.returncode is not None or os.getpid() != self._owner:
            return
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._guard.pid, signal.SIGKILL)  # The guard has not been waited for, so the group is still its own.
        self._guard.stdin.close()
        self._guard.wait(END_SECONDS)
        if self._reader is not threading.current_thread():  # Where garbage is collected.
            self._reader.join(END_SECONDS)
            self._guard.stdout.close()
