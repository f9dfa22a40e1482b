"""A shard that is offered four times what it can do: what it counts, and what it holds. How much of its peak it still answers
(.8) and how long health takes meanwhile (50 ms) is a matter of time, which `tests/bench/record overload` measures."""

import pathlib
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from overload import CONNECTIONS, KEYS, Load, Observer, lonely_shard
from prometheus import Prometheus, require_prometheus

STREAMS = 128   # Of a connection: calls that may have been read in part.
WAITING = 128   # Of a shard: calls that wait for a thread.
REQUEST, REPLY = 8 * KEYS, 36 * KEYS
SLACK = 64 << 20
SPEED = 60      # Of time, for the alert's rule: two minutes are two seconds.


class OverloadTest(unittest.TestCase):

    def test_a_shard_sheds_what_is_too_much_and_serves_on(self):
        with lonely_shard() as (crew, view), Load(view, patience=20) as load:
            with Observer(crew) as before:
                peak = load.closed(2)
            self.assertGreater(peak, 0, load.outcomes)
            with Observer(crew) as overload:
                load.open(4 * peak, 4)
            self.assertGreater(load.outcomes["OK"], 0, load.outcomes)
            self.assertGreater(load.outcomes["RESOURCE_EXHAUSTED"], 0, load.outcomes)
            self.assertEqual(load.hints, load.outcomes["RESOURCE_EXHAUSTED"])
            self.assertEqual(set(load.outcomes), {"OK", "RESOURCE_EXHAUSTED"})
            self.assertLess(max(overload.resident) - max(before.resident),
                            CONNECTIONS * STREAMS * REQUEST + WAITING * (REQUEST + REPLY) + SLACK)
            self.assertGreater(load.closed(1), 0, load.outcomes)
            self.assertEqual(set(load.outcomes), {"OK"})
            self.assertEqual(crew.health("ps-0")["readiness"], "SERVING")

    def test_an_alert_tells_of_it_and_not_of_a_shard_that_is_merely_busy(self):
        alert = 'ALERTS{alertname="CapstanOverload",alertstate="firing"}'
        with lonely_shard() as (crew, view), Load(view, patience=20) as load, Prometheus({"overload": crew}, SPEED) as prometheus:
            began = time.time()
            peak = load.closed(8)
            self.assertFalse(prometheus.happened(alert, began), load.outcomes)
            began = time.time()
            load.open(4 * peak, 8)
            self.assertTrue(prometheus.happened(alert, began), load.outcomes)


if __name__ == "__main__":
    require_prometheus()
    unittest.main(verbosity=2)
