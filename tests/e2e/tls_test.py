"""Mutual TLS between the processes of a job: the job runs and recovers as it does without; who has no certificate of
the job is kept out, and what is renewed is used without a restart."""

import pathlib
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import grpc
from authority import ROLES, Authority
from crew import chief_pb2, ps_pb2, run_to_end, series, watch_view
from ledger import ledger_job
from ledger_case import RECORDS, LedgerCase
from tls_crew import TlsCrew

# One worker's steps take so long that the job lasts longer than any test; another one ends it in seconds.
UNTIL_A_SECOND_COMES = {"pace": {"worker-0": 50}}


class TlsTest(LedgerCase):

    def setUp(self):
        super().setUp()
        self.authority = Authority(pathlib.Path(self.folder.name) / "authority")

    def kind(self, job, **settings):
        return TlsCrew(job, self.authority, **settings)

    def test_a_job_is_exact_and_survives_a_shard_and_the_chief(self):
        for policy in ("async", "sync"):
            with self.subTest(policy), self.crew(policy) as crew:
                crew.until_examples(RECORDS // 8)
                crew.until(lambda: crew.status().checkpoint.taken > 0, "a checkpoint")
                crew.restart_shard(1)
                crew.until(lambda: len(crew.status().losses) == 1, "the recovery")
                crew.hang_up()
                crew.restart_chief()
                if policy == "sync":  # Shards ask the coordinator, which is a shard, too.
                    crew.until(lambda: all(self.added_ahead(crew, shard) > 0 for shard in ("ps-0", "ps-1")),
                               "gradients added before their round is closed")
                crew.until_state("RUNNING")
                crew.hurry()
                self.check_exact(crew)

    def added_ahead(self, crew, shard):
        return sum(series(crew.scrape(shard), "capstan_gradients_added_ahead_total").values())

    def test_the_command_needs_a_certificate_too(self):
        with self.crew(workers=1, **UNTIL_A_SECOND_COMES) as crew:
            crew.until_examples(1)
            status = ["status", "--json", "--chief", crew.address]
            code, said = run_to_end("capstan", *status, "--tls", crew.certificates("admin"))
            self.assertEqual(code, 0, said)
            self.assertIn('"RUNNING"', said.replace("JOB_STATE_", ""))
            crew.call("TakeCheckpoint", chief_pb2.TakeCheckpointRequest(), chief_pb2.TakeCheckpointReply)
            self.assertRegex(crew.log("chief"), r"asked for a checkpoint.*admin\.ledger\.capstan ipv4:127\.0\.0\.1:\d+")
            code, said = run_to_end("capstan", *status, "--tls", crew.certificates("worker"))
            self.assertEqual(code, 1, said)
            self.assertIn("the client's certificate names no role of job ledger that may call "
                          "/capstan.v1.Chief/GetStatus", said)
            code, said = run_to_end("capstan", *status)
            self.assertEqual(code, 1, said)
            self.assertIn(crew.address, said)
            crew.call("Rebalance", chief_pb2.RebalanceRequest(plan_only=True), chief_pb2.RebalanceReply)
            self.assertRegex(crew.log("chief"), r"asked for a plan of moves.*admin\.ledger\.capstan ipv4:127\.0\.0\.1:\d+")
            crew.call("StopJob", chief_pb2.StopJobRequest(reason="enough"), chief_pb2.StopJobReply)
            self.assertRegex(crew.log("chief"), r"asked to stop the job reason=enough .*admin\.ledger\.capstan ipv4:127\.0\.0\.1:\d+")

    def test_strangers_are_kept_out_and_the_job_goes_on(self):
        with self.crew(workers=1, **UNTIL_A_SECOND_COMES) as crew:
            crew.until_examples(1)
            stranger = Authority(crew.folder / "stranger").issue(crew.folder / "tls-stranger",
                                                                 ["worker.ledger.capstan"])
            other_job = self.authority.issue(crew.folder / "tls-other", ["worker.other.capstan"])
            worker = ["--chief", crew.address, "--name", "w", "--health-port", 0, "--metrics-port", 0,
                      "--chief-deadline", 2]
            for flags in ([], ["--tls", stranger], ["--tls", other_job], ["--tls", crew.certificates("ps")]):
                with self.subTest(flags=flags):
                    code, said = run_to_end("worker", *worker, *flags)
                    self.assertEqual(code, 1, said)
                    self.assertIn(crew.address, said)
            with grpc.insecure_channel(f"127.0.0.1:{crew.ports('ps-0')['data']}") as channel:
                with self.assertRaises(grpc.RpcError) as refused:
                    channel.unary_unary("/capstan.v1.Ps/Flush")(b"", timeout=5)
                self.assertEqual(refused.exception.code(), grpc.StatusCode.UNAVAILABLE)
            with self.assertRaises(grpc.RpcError) as refused:
                crew.call_shard("ps-0", "Flush", ps_pb2.FlushRequest(), ps_pb2.FlushReply)
            self.assertEqual(refused.exception.code(), grpc.StatusCode.PERMISSION_DENIED)
            crew.add_worker("worker-1")
            self.check_exact(crew)

    def test_a_shard_cannot_act_for_another_one(self):
        with self.crew(workers=1, **UNTIL_A_SECOND_COMES) as crew:
            crew.until_examples(1)
            view = watch_view(crew.address, crew.connect_as("worker", "chief", crew.address))
            victim = view.shards[0]
            registration = chief_pb2.RegisterShardRequest(wire_version=1, index=0, address="127.0.0.1:1", incarnation=7)
            beat = chief_pb2.ShardHeartbeatRequest(index=0, incarnation=victim.incarnation, draining=True)
            for why in self.denied(crew, "ps-1", registration, beat):
                self.assertIn("is of another shard than 0", why)
            self.assertRegex(crew.log("chief"), r"acts for a shard.*ps-1\.ps\.ledger\.capstan")
            done = ps_pb2.ReplicateRequest(source=victim.incarnation, stream=1, first=1)
            with crew.connect_as("ps-1", "ps", view.shards[1].address) as channel:
                with self.assertRaises(grpc.RpcError) as refused:
                    channel.unary_unary("/capstan.v1.Ps/Replicate",
                                        request_serializer=type(done).SerializeToString)(done, timeout=5)
                self.assertEqual(refused.exception.code(), grpc.StatusCode.PERMISSION_DENIED)
                self.assertIn("is of another shard than 0", refused.exception.details())
            # Nor do the others listen to what it says of rounds in its own name, or in that of nobody.
            closed = ps_pb2.Operation(closed={"round": 1})
            for source, code in ((view.shards[1].incarnation, grpc.StatusCode.OK), (12345, grpc.StatusCode.UNAVAILABLE)):
                told = ps_pb2.ReplicateRequest(source=source, stream=1, first=1, operations=[closed], header={
                    "wire_version": 1, "timeline": view.timeline, "target_incarnation": victim.incarnation})
                with crew.connect_as("ps-1", "ps", victim.address) as channel:
                    call = channel.unary_unary("/capstan.v1.Ps/Replicate", request_serializer=type(told).SerializeToString,
                                               response_deserializer=ps_pb2.ReplicateReply.FromString)
                    try:
                        self.assertEqual((call(told, timeout=5).taken, grpc.StatusCode.OK), (0, code))
                    except grpc.RpcError as refused:
                        self.assertEqual(refused.code(), code, refused)
            code, said = run_to_end("ps", "--chief", crew.address, "--index", 0, "--listen", "127.0.0.1:0", "--health-port",
                                    0, "--metrics-port", 0, "--tls", crew.certificates("ps-1"))
            self.assertEqual(code, 1, said)
            self.assertIn("is of another shard than 0", said)
            crew.restart_shard(0)  # With its own certificate it may.
            crew.until(lambda: len(crew.status().losses) == 1, "the recovery")
            crew.add_worker("worker-1")
            self.check_exact(crew)

    @staticmethod
    def denied(crew, holder, *requests):
        """Why the chief denies the holder of a certificate each of these requests for a shard."""
        with crew.connect_as(holder, "chief", crew.address) as channel:
            for request in requests:
                method = type(request).__name__.removesuffix("Request")
                try:
                    channel.unary_unary(f"/capstan.v1.Chief/{method}",
                                        request_serializer=type(request).SerializeToString)(request, timeout=5)
                    yield f"{method} is taken"
                except grpc.RpcError as refused:
                    yield refused.details() if refused.code() == grpc.StatusCode.PERMISSION_DENIED else f"{method}: {refused}"

    def test_nor_can_one_with_a_certificate_of_no_shard_as_long_as_that_is_there(self):
        with self.crew(workers=1, chief_flags=["--unnumbered-shards=accept"], **UNTIL_A_SECOND_COMES) as crew:
            crew.until_examples(1)
            view = watch_view(crew.address, crew.connect_as("worker", "chief", crew.address))
            victim = view.shards[0]
            self.assertTrue(victim.shows_secret)
            registration = chief_pb2.RegisterShardRequest(wire_version=1, index=0, address="127.0.0.1:1",
                                                          incarnation=victim.incarnation)
            beat = chief_pb2.ShardHeartbeatRequest(index=0, incarnation=victim.incarnation, draining=True)
            for why in self.denied(crew, "ps", registration, beat):
                self.assertIn("the secret", why)
            self.assertRegex(crew.log("chief"), r"without the secret of its process shard=0 .*ps\.ledger\.capstan")
            now = watch_view(crew.address, crew.connect_as("worker", "chief", crew.address)).shards[0]
            self.assertEqual((now.address, now.incarnation, now.draining), (victim.address, victim.incarnation, False))
            crew.add_worker("worker-1")
            self.check_exact(crew)

    def test_nor_when_it_is_gone_if_its_certificate_had_a_number(self):
        with self.crew(workers=1, **UNTIL_A_SECOND_COMES) as crew:
            crew.until(lambda: crew.status().checkpoint.taken > 0, "a checkpoint")
            registration = chief_pb2.RegisterShardRequest(wire_version=1, index=0, address="127.0.0.1:1", incarnation=7)
            beat = chief_pb2.ShardHeartbeatRequest(index=0, incarnation=7)
            for restart in (lambda: None, crew.restart_chief):  # The next chief knows it, too.
                crew.hang_up()
                restart()
                crew.until(lambda: self.reaches(crew), "the chief")
                for why in self.denied(crew, "ps", registration, beat):
                    self.assertIn("the certificate carries no number, and that of shard 0 has to", why)
            self.assertRegex(crew.log("chief"), r"with a certificate without its number shard=0 .*ps\.ledger\.capstan")
            crew.restart_shard(0)  # With its own certificate it may.
            crew.until(lambda: len(crew.status().losses) == 1, "the recovery")
            crew.add_worker("worker-1")
            self.check_exact(crew)

    def test_a_new_authority_is_believed_without_a_restart(self):
        with self.crew(workers=1, **UNTIL_A_SECOND_COMES) as crew:
            crew.until_examples(1)
            successor = Authority(crew.folder / "successor")
            # First all believe both, then all are certified by the next one.
            for days, issuer, other in ((2, self.authority, successor), (3, successor, self.authority)):
                ends = self.ends(crew)
                for role in ROLES:
                    crew.issue(role, issuer, believing=[other], days=days)
                    crew.hang_up()
                crew.until(lambda: not ends.items() & self.ends(crew).items(), "the new certificates")
                crew.until(lambda: self.reaches(crew), "belief in the one who issued them")
                examples = crew.status().examples
                crew.until(lambda: crew.status().examples > examples, "further training")
            crew.restart_shard(0)
            crew.until(lambda: len(crew.status().losses) == 1, "the recovery")
            crew.add_worker("worker-1")
            self.check_exact(crew)

    @staticmethod
    def reaches(crew):
        """Whether the chief takes a connection of the present certificate."""
        try:
            crew.status()
            return True
        except grpc.RpcError:
            crew.hang_up()
            return False

    @staticmethod
    def ends(crew):
        name = "capstan_tls_certificate_expiry_timestamp_seconds"
        return {process: series(crew.scrape(process), name)[""] for process in crew.processes}

    def test_a_folder_that_is_none_ends_each_process_with_2(self):
        folder = pathlib.Path(self.folder.name)
        for binary in ("chief", "ps", "worker", "capstan"):
            arguments = {"chief": ["--job", self.data, "--shards", 1], "ps": ["--chief", "127.0.0.1:1", "--index", 0],
                         "worker": ["--chief", "127.0.0.1:1"],
                         "capstan": ["status", "--chief", "127.0.0.1:1"]}[binary]
            with self.subTest(binary):
                code, said = run_to_end(binary, *arguments, "--tls", folder / "nothing")
                self.assertEqual(code, 2, said)
                self.assertIn(f"{folder}/nothing/tls.crt: No such file or directory", said)

    def test_numbers_cannot_be_asked_for_where_there_are_no_certificates(self):
        code, said = run_to_end("chief", "--job", self.data, "--shards", 1, "--unnumbered-shards=refuse")
        self.assertEqual(code, 2, said)
        self.assertIn("--unnumbered-shards=refuse: needs --tls, as certificates carry the numbers", said)

    def test_a_chief_with_another_jobs_certificate_ends_with_2(self):
        folder = pathlib.Path(self.folder.name)
        job = folder / "job.yaml"
        job.write_text(ledger_job([self.data]))
        other = self.authority.issue(folder / "other", ["chief.other.capstan"])
        code, said = run_to_end("chief", "--job", job, "--shards", 1, "--tls", other)
        self.assertEqual(code, 2, said)
        self.assertIn("tls.crt: is of job other, the job file's is ledger", said)


if __name__ == "__main__":
    unittest.main()
