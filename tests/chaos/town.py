"""A crew whose processes live in network namespaces of their own, joined by a bridge, so that links can be cut; its
checkpoints are in an object store (store.py) that lives there too.

Everything is in a network and a mount namespace that `enter` makes for this test alone: nothing of it is seen
outside, and all of it is gone with the test."""

import contextlib
import json
import os
import pathlib
import subprocess
import sys
import time
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
from crew import BINARIES, Crew, run_to_end
from ending import held

INSIDE = "CAPSTAN_CHAOS_INSIDE"
GATE = "10.77.0.1"  # The test itself.
STORE = pathlib.Path(__file__).resolve().parent / "store.py"


def enter():
    """Runs this program again in namespaces of its own. False: they cannot be made here."""
    if INSIDE in os.environ:
        return True
    wanted = ["unshare", "--net", "--mount"]
    allowed = subprocess.run([*wanted, "sh", "-c", "mount -t tmpfs none /run && ip link add b0 type bridge && "
                              "ip netns add a && ip netns exec a nft add table inet wall"], capture_output=True)
    if allowed.returncode != 0:
        return False
    os.execvpe("unshare", [*wanted, sys.executable, *sys.argv], {**os.environ, INSIDE: "1"})


def run(*words):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if done.returncode != 0:
        raise AssertionError(f"{' '.join(map(str, words))}: {done.stderr}")


class Town(Crew):
    """Every process has a house of its own: an address, a door to the bridge, a wall (nft) within."""

    def __init__(self, *arguments, **settings):
        super().__init__(*arguments, **settings)
        self.houses = {}
        self.overrides[-1] = "checkpoint.uri=s3://town/model"
        self.ruins = contextlib.ExitStack()  # Takes down what was built, the last first.

    def __exit__(self, *why):
        super().__exit__(*why)
        self.ruins.close()

    def begin(self, *chief_flags):
        self.build()
        self.address = f"{self.house('chief')}:7000"
        self.add_chief(self.address, *chief_flags)
        self.ports("chief")
        self.add_others()

    def build(self):
        """The bridge, and the store in its house."""
        run("mount", "-t", "tmpfs", "none", "/run")
        self.ruins.callback(run, "umount", "--lazy", "/run")
        run("ip", "link", "set", "lo", "up")
        run("ip", "link", "add", "bridge", "type", "bridge")
        self.ruins.callback(run, "ip", "link", "del", "bridge")
        run("ip", "addr", "add", f"{GATE}/24", "dev", "bridge")
        run("ip", "link", "set", "bridge", "up")
        self.store_address = f"{self.house('store')}:9000"
        os.environ.update({"AWS_ENDPOINT_URL_S3": f"http://{self.store_address}", "AWS_ACCESS_KEY_ID": "town",
                           "AWS_SECRET_ACCESS_KEY": "secret-of-the-town", "CAPSTAN_S3_ALLOW_HTTP": "true"})
        store = subprocess.Popen(["ip", "netns", "exec", "store", sys.executable, str(STORE),
                                  *self.store_address.split(":")], stdin=subprocess.DEVNULL)
        self.ruins.callback(store.wait)
        self.ruins.callback(store.kill)
        self.until_store()

    # ---- the store ----

    def until_store(self):
        deadline = time.monotonic() + 20
        while True:
            try:
                return self.weather()
            except OSError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.1)

    def weather(self, **what):
        """See store.py."""
        request = urllib.request.Request(f"http://{self.store_address}/-/weather", data=json.dumps(what).encode(),
                                         method="PUT")
        urllib.request.urlopen(request, timeout=5).close()

    def predict_with(self, model, data_file):
        code, said = run_to_end("capstan", "predict", model, data_file, timeout=120)
        if code != 0:
            raise AssertionError(f"predict ended with {code}: {said}")
        return [float(line.split(",")[-1]) for line in said.splitlines()]

    # ---- houses ----

    def house(self, name):
        """The address of a process's house, which is built for it first."""
        if name not in self.houses:
            self.houses[name] = f"10.77.0.{len(self.houses) + 2}"
            door = self.door(name)
            run("ip", "netns", "add", name)
            self.ruins.callback(run, "ip", "netns", "del", name)
            run("ip", "link", "add", door, "type", "veth", "peer", "name", "eth0", "netns", name)
            # A door that is left to the end of its namespace is there for a while after it.
            self.ruins.callback(run, "ip", "link", "del", door)
            run("ip", "link", "set", door, "master", "bridge", "up")
            self.inside(name, "ip", "addr", "add", f"{self.houses[name]}/24", "dev", "eth0")
            self.inside(name, "ip", "link", "set", "eth0", "up")
            self.inside(name, "ip", "link", "set", "lo", "up")
            self.inside(name, "nft", "add table inet wall")
            for way in ("input", "output"):
                self.inside(name, "nft", f"add chain inet wall {way} {{ type filter hook {way} priority 0; }}")
        return self.houses[name]

    def door(self, name):
        return f"d-{name}"[:15]

    def inside(self, name, *words):
        run("ip", "netns", "exec", name, *words)

    # ---- links: whoever is behind them is not told ----

    def wall(self, name, way, rule):
        self.inside(name, "nft", f"add rule inet wall {way} {rule}")

    def cut_between(self, one, other):
        """Nothing goes from one to the other, nor back."""
        self.wall(one, "input", f"ip saddr {self.house(other)} drop")
        self.wall(one, "output", f"ip daddr {self.house(other)} drop")

    def cut_one_way(self, one, other):
        """What one sends does not come to the other."""
        self.wall(one, "output", f"ip daddr {self.house(other)} drop")

    def cut(self, name):
        self.wall(name, "input", "drop")
        self.wall(name, "output", "drop")

    def rain(self, name, percent):
        """So many packets are lost, in both directions."""
        for way in ("input", "output"):
            self.wall(name, way, f"numgen random mod 100 < {percent} drop")

    def narrow(self, name, rate):
        run("tc", "qdisc", "replace", "dev", self.door(name), "root", "tbf", "rate", rate, "burst", "16k",
            "latency", "200ms")

    def heal(self, name):
        for way in ("input", "output"):
            self.inside(name, "nft", f"flush chain inet wall {way}")
        subprocess.run(["tc", "qdisc", "del", "dev", self.door(name), "root"], capture_output=True)

    # ---- processes, as the crew starts them, but each in its house ----

    def start(self, name, binary, *arguments):
        self.ports_file(name).unlink(missing_ok=True)
        here = self.house(name)
        words = [word.replace("127.0.0.1:0", f"{here}:0") for word in map(str, arguments)]
        if binary == "worker":
            words += ["--host", here]
        with held(), open(self.folder / f"{name}.log", "ab") as log:
            self.processes[name] = subprocess.Popen(
                ["ip", "netns", "exec", name, str(BINARIES / binary), "--health-port", "0", "--metrics-port", "0",
                 "--ports-file", str(self.ports_file(name)), *map(str, self.flags), *words],
                stdout=log, stderr=log, stdin=subprocess.DEVNULL, env={**os.environ, **self.environment.get(name, {})})

    def scrape(self, name):
        port = self.ports(name)["metrics"]
        with urllib.request.urlopen(f"http://{self.houses[name]}:{port}/metrics", timeout=5) as answer:
            return answer.read().decode()
