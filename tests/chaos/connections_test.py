"""Connections that die without a word, processes that come back at another address, and a machine that is there no more:
how long it takes the others to find out."""

import pathlib
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import town
from ledger import ledger_times
from ledger_case import LedgerCase, RECORDS

SKIPPED = 77  # CTest's SKIP_RETURN_CODE.
FOUND_DEAD_WITHIN = 15  # Seconds from the last packet of a connection.
FOUND_AGAIN_WITHIN = 5  # Seconds from the new address's entry in the names.
PORT = 7000


class NamedTown(town.Town):
    """The chief and the shards are known by names alone, in a hosts file that is the town's own."""

    def begin(self, *chief_flags):
        self.moved = []
        self.hosts = self.folder / "hosts"
        self.hosts.touch()
        town.run("mount", "--bind", self.hosts, "/etc/hosts")
        self.ruins.callback(town.run, "umount", "--lazy", "/etc/hosts")
        self.build()
        self.address = f"chief.town:{PORT}"
        for name in ("chief", *(f"ps-{index}" for index in range(self.shards))):
            self.house(name)
        self.write_hosts()
        self.add_chief(self.address, *chief_flags)
        self.ports("chief")
        self.add_others()

    def write_hosts(self):
        self.hosts.write_text("".join(f"{address} {name}.town\n" for name, address in self.houses.items()))

    def add_chief(self, listen, *flags, name="chief"):
        super().add_chief(f"{self.houses[name]}:{PORT}", *flags, name=name)

    def add_shard(self, index):
        name = f"ps-{index}"
        self.start(name, "ps", "--chief", self.address, "--index", index, "--listen", f"{self.houses[name]}:{PORT}",
                   "--advertise", f"{name}.town:{PORT}")

    def lose_power(self, *names):
        """The machine with these processes vanishes: nobody is told, not even by a reset connection."""
        for name in names:
            self.cut(name)
        for name in names:
            self.kill(name)

    def move(self, name):
        """The process ends, if it has not, and another begins at another address. When that stood in the names."""
        self.kill(name)
        old, new = self.houses[name], f"10.77.0.{100 + len(self.moved)}"
        self.moved.append(name)
        self.inside(name, "ip", "addr", "del", f"{old}/24", "dev", "eth0")
        self.inside(name, "ip", "addr", "add", f"{new}/24", "dev", "eth0")
        self.houses[name] = new
        self.heal(name)
        self.hang_up()
        self.add_again(name)
        self.ports(name)
        self.write_hosts()
        return time.monotonic()


class ConnectionsTest(LedgerCase):
    kind = NamedTown

    def took(self, began, what, bound):
        seconds = time.monotonic() - began
        print(f"{what}: {seconds:.1f} s", file=sys.stderr)
        self.assertLess(seconds, bound, what)

    def until_progress(self, crew):
        examples = crew.status().examples
        crew.until(lambda: crew.status().examples > examples + 200, "progress")

    # ---- connections whose packets are lost, while new ones are well ----

    def silence(self, crew, one, other):
        """Nothing gets through of the connections that `one` has opened to `other`; nobody is told."""
        lines = subprocess.run(["ip", "netns", "exec", one, "ss", "-Htn", "state", "established", "dst",
                                f"{crew.houses[other]}:{PORT}"], capture_output=True, text=True, check=True).stdout
        ports = [line.split()[2].rpartition(":")[2] for line in lines.splitlines()]
        self.assertTrue(ports, f"{one} has no connection to {other}")
        for port in ports:
            crew.wall(one, "output", f"ip daddr {crew.houses[other]} tcp sport {port} drop")
            crew.wall(one, "input", f"ip saddr {crew.houses[other]} tcp dport {port} drop")
        return time.monotonic()

    def is_found_dead(self, one, other, noticed, well_again):
        with self.crew(workers=1, epochs=6) as crew:
            self.until_progress(crew)
            began = self.silence(crew, one, other)
            crew.until(lambda: noticed(crew), "that it is missed", timeout=20)
            crew.until(lambda: well_again(crew), "that it is found again")
            self.took(began, f"{one} to {other}, a connection dead without a word", FOUND_DEAD_WITHIN)
            self.until_progress(crew)

    def test_a_worker_finds_that_its_connection_to_a_shard_is_dead(self):
        with self.crew(workers=1, epochs=6) as crew:
            self.until_progress(crew)
            began = self.silence(crew, "worker-0", "ps-1")
            time.sleep(1)  # What was acknowledged before has been told by now.
            self.until_progress(crew)
            self.took(began, "worker to shard, a connection dead without a word", FOUND_DEAD_WITHIN)

    def test_a_worker_finds_that_its_connection_to_the_chief_is_dead(self):
        self.is_found_dead("worker-0", "chief",
                           noticed=lambda crew: [worker.state for worker in crew.status().workers] != ["active"],
                           well_again=lambda crew: "active" in [worker.state for worker in crew.status().workers])

    def test_a_shard_finds_that_its_connection_to_the_chief_is_dead(self):
        self.is_found_dead("ps-1", "chief",
                           noticed=lambda crew: crew.status().shards[1].state == "lost",
                           well_again=lambda crew: crew.status().shards[1].state == "serving")

    # ---- names ----

    def test_a_chief_at_another_address_is_found(self):
        with self.crew() as crew:
            crew.until(lambda: crew.status().checkpoint.taken > 0, "a checkpoint")
            began = crew.move("chief")
            crew.until(lambda: [shard.state for shard in crew.status().shards] == ["serving"] * 2
                       and [worker.state for worker in crew.status().workers] == ["active"] * 2, "everybody")
            self.took(began, "a chief at another address", FOUND_AGAIN_WITHIN)
            self.check_complete(crew)

    def test_a_shard_at_another_address_is_found(self):
        with self.crew() as crew:
            crew.until(lambda: crew.status().checkpoint.taken > 0, "a checkpoint")
            began = crew.move("ps-1")
            crew.until(lambda: len(crew.status().losses) == 1, "the recovery")
            self.until_progress(crew)
            self.took(began, "a shard at another address", FOUND_AGAIN_WITHIN)
            self.check_complete(crew)

    # ---- a machine ----

    def test_a_machine_that_vanishes_with_a_shard_and_a_worker_is_replaced(self):
        with self.crew(workers=3) as crew:
            crew.until(lambda: crew.status().checkpoint.taken > 0, "a checkpoint")
            began = time.monotonic()
            crew.lose_power("ps-1", "worker-1")
            crew.until(lambda: crew.status().shards[1].state == "lost", "that it is missed")
            self.took(began, "a machine has vanished", FOUND_DEAD_WITHIN)
            crew.move("worker-1")
            crew.move("ps-1")
            crew.until(lambda: len(crew.status().losses) == 1, "the recovery")
            self.until_progress(crew)
            self.took(began, "another is in its place, since then", FOUND_DEAD_WITHIN)
            self.check_complete(crew)

    def check_complete(self, crew):
        last = crew.wait(180)
        self.assertEqual(last.examples, 2 * RECORDS)
        self.assertEqual(set(ledger_times(crew.predict_with(last.model_uri, self.data))), {2})


if __name__ == "__main__":
    if not town.enter():
        print("SKIPPED: no network namespaces can be made here; nothing was cut")
        sys.exit(SKIPPED)
    unittest.main(verbosity=2)
