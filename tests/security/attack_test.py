"""A live job under attack completes with the right model. `attack` tells what each attack got."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from town import Town


class AttackTest(unittest.TestCase):

    def attacked(self, policy, role, tls):
        with Town(policy, role, tls) as town:
            got = dict(town.attack(short=True))
            self.assertEqual(town.end(), {1})
        return got

    def test_a_worker_can_neither_stop_the_job_nor_spoil_what_others_train(self):
        got = self.attacked("async", "worker", tls=True)
        for attack in ("stop the job", "order a shard", "save elsewhere"):
            self.assertIn("PERMISSION_DENIED", got[attack], attack)
        self.assertIn("its seal is wrong", got["push with the last generation"])
        self.assertIn("there is a worker worker-0", got["take the place of a worker"])
        self.assertIn("100 of 100 refused", got["streams without end"])

    def test_nor_can_a_shard_take_the_place_of_another_one(self):
        got = self.attacked("async", "ps", tls=True)
        for attack in ("take the place of a shard", "beat for another shard", "a shard that the job has not"):
            self.assertIn("PERMISSION_DENIED: the certificate is of another shard than ", got[attack], attack)
        for attack in ("stop the job", "order a shard", "save elsewhere", "streams without end",
                       "take the place of a worker"):
            self.assertIn("PERMISSION_DENIED", got[attack], attack)
        self.assertIn("is not host:port", got["a shard at an address that is none"])

    def test_nor_where_rounds_are_synchronous_and_nobody_is_asked_who_it_is(self):
        got = self.attacked("sync", "none", tls=False)
        self.assertIn("the job has 2", got["a lane that there is not"])
        self.assertIn("there are none for shard", got["a shard that the job has not"])
        self.assertIn("is not host:port", got["a shard at an address that is none"])
        for attack in ("open a round with the last generation", "close a round that is open"):
            self.assertIn("its seal is wrong", got[attack], attack)
        self.assertIn("written there: 0", got["save elsewhere"])
        self.assertIn("PERMISSION_DENIED", got["load from elsewhere"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
