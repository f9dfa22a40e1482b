"""A live job under attack completes with the right model. `attack` tells what each attack got."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from town import Town, find_program


class AttackTest(unittest.TestCase):

    def attacked(self, policy, role, tls):
        with Town(policy, role, tls) as town:
            got = dict(town.attack(short=True))
            self.assertEqual(town.end(), {1})
            self.assertEqual(town.manifest_with_escapes(), "no escape is shown, ?[2J? in its place")
        self.assertRegex(got["freeze the chief"], r"; chief answers others after \d\.\d s$")
        self.assertIn("no escape in `capstan status`", got["escape sequences for the terminal"])
        return got

    def test_a_worker_can_neither_stop_the_job_nor_spoil_what_others_train(self):
        got = self.attacked("async", "worker", tls=True)
        for attack in ("stop the job", "order a shard", "save elsewhere"):
            self.assertIn("PERMISSION_DENIED", got[attack], attack)
        self.assertIn("its seal is wrong", got["push with the last generation"])
        self.assertIn("there is a worker worker-0", got["take the place of a worker"])
        self.assertIn("100 of 100 refused", got["streams without end"])
        for attack in ("tell the clock of another trainer", "tell it in a session of its own"):
            self.assertIn("the clock of trainer 1, told under no lease", got[attack], attack)

    @unittest.skipIf(find_program() is None, "there is no S3 server on this machine; CAPSTAN_TEST_S3_SERVER names a minio program")
    def test_nor_can_it_write_the_bucket_from_which_it_reads_its_data(self):
        got = self.attacked("ssp", "worker", tls=True)
        self.assertEqual(got["write the bucket"], "7 of 7 refused; read its data: done, the chief's state: AccessDenied")

    def test_nor_can_one_that_pushes_act_for_a_worker(self):
        got = self.attacked("ssp", "pusher", tls=True)
        for attack in ("tell the clock of another trainer", "tell it in a session of its own",
                       "tell it in a piece of a push"):
            self.assertIn("its pushes name no trainer", got[attack], attack)
        self.assertIn("its pushes name no lane", got["a lane that there is not"])
        for attack in ("push with the last generation", "streams without end"):
            self.assertIn("its pushes name a session and no task", got[attack], attack)
        for attack in ("stop the job", "order a shard", "save elsewhere", "load from elsewhere",
                       "take the place of a worker", "open a round with the last generation"):
            self.assertIn("PERMISSION_DENIED", got[attack], attack)

    def test_nor_can_a_shard_take_the_place_of_another_one(self):
        got = self.attacked("async", "ps", tls=True)
        for attack in ("take the place of a shard", "take the address of a shard", "beat for another shard",
                       "a shard that the job has not"):
            self.assertIn("PERMISSION_DENIED: the certificate is of another shard than ", got[attack], attack)
        for attack in ("stop the job", "order a shard", "save elsewhere", "streams without end",
                       "take the place of a worker"):
            self.assertIn("PERMISSION_DENIED", got[attack], attack)
        self.assertIn("is not host:port", got["a shard at an address that is none"])

    def test_nor_where_rounds_are_synchronous_and_nobody_is_asked_who_it_is(self):
        got = self.attacked("sync", "none", tls=False)
        self.assertIn("the job has 2", got["a lane that there is not"])
        self.assertIn("there are none for shard", got["a shard that the job has not"])
        self.assertIn("UNAVAILABLE: there is a shard 0 at ", got["take the place of a shard"])
        for attack in ("take the address of a shard", "beat for another shard"):
            self.assertRegex(got[attack], "PERMISSION_DENIED: .*the secret", attack)
        self.assertIn("is not host:port", got["a shard at an address that is none"])
        for attack in ("open a round with the last generation", "close a round that is open"):
            self.assertIn("its seal is wrong", got[attack], attack)
        self.assertIn("written there: 0", got["save elsewhere"])
        self.assertIn("PERMISSION_DENIED", got["load from elsewhere"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
