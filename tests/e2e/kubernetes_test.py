"""The chart on a real cluster, in namespaces under the restricted Pod Security Standard: training completes while
workers come and go, every record counts once, and nothing is left behind. Skips, loudly, without a cluster."""

import os
import pathlib
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
sys.dont_write_bytecode = True
from authority import ROLES, Authority
from cluster import CHART, IMAGE, KUBE, Namespace, Release, digest_of, helm, merged, require_cluster
from cluster_jobs import RECORDS, certificates, claim, ledger, ledger_times, record_lines, records, synthetic

# Groups of the API whose definitions this cluster does not have.
OTHERS = ("monitoring.coreos.com", "keda.sh", "cert-manager.io/v1")


class KubernetesTest(unittest.TestCase):

    def test_workers_come_and_go_and_every_record_counts_once(self):
        """1 -> 5 -> 2 -> 0 -> 3 in the middle of training, in each policy."""
        for policy in ({"policy": "async"}, {"policy": "ssp", "staleness": 4}, {"policy": "sync", "lanes": 3}):
            with self.subTest(policy=policy["policy"]), Namespace("capstan-e2e-ledger") as namespace:
                namespace.apply(claim("models"), records(record_lines()))
                release = Release(namespace, "ctr", ledger(policy))
                release.install()
                done = RECORDS // 12
                for workers in (5, 2, 0, 3):
                    done = int(release.until_examples(done)["examples"]) + RECORDS // 12
                    release.scale(workers)
                    release.until_workers(workers)
                    if workers == 0:  # Nobody is there to go further.
                        done = 0
                victim = release.pods("worker")[0]["metadata"]["name"]
                namespace.kubectl("delete", "pod", victim, "--grace-period=0", "--force")
                release.hurry()
                release.wait_job("complete")
                status = release.status()
                self.assertEqual((status["state"], int(status["examples"])), ("JOB_STATE_COMPLETED", RECORDS))
                self.assertEqual(ledger_times(release, status["model_uri"]), {1: RECORDS})

    def test_a_release_lives_from_install_to_uninstall(self):
        with Namespace("capstan-e2e-life") as namespace:
            release = Release(namespace, "ctr", synthetic(150000))
            begin = time.monotonic()
            release.install("--wait", "--timeout=120s")
            ready = time.monotonic() - begin
            status = release.until(lambda s: int(s["global_step"]) > 0, "the first gradient")
            first = time.monotonic() - begin
            print(f"installed and ready after {ready:.1f} s, first gradient seen after {first:.1f} s", flush=True)
            # 15 s on a machine that does nothing else; say so there.
            self.assertLess(first, float(os.environ.get("CAPSTAN_E2E_START_SECONDS", "inf")))
            self.assertEqual(len(status["shards"]), 2)
            release.scale(3)
            release.until_workers(3)
            release.upgrade("--wait", "--timeout=120s")
            self.assertEqual(namespace.get("deployment", "ctr-worker")["spec"]["replicas"], 3,
                             "an upgrade undid kubectl scale")
            release.wait_job("complete")
            release.values["worker"]["podAnnotations"] = {"example.com/revision": "2"}
            release.upgrade("--wait", "--timeout=120s")
            self.annotated(release, "2")
            release.helm("rollback", "1", "--wait", "--timeout=120s")
            self.annotated(release, None)
            test = release.helm("test", "--timeout=180s", check=False)
            self.assertEqual(test.returncode, 0, test.stdout + test.stderr)
            release.helm("uninstall", "--wait", "--timeout=120s")
            # helm waits for what it has made; the pods are not among that.
            namespace.kubectl("wait", "--for=delete", "pod", "--all", "--timeout=30s")
            left = [one["metadata"]["name"] for one in
                    namespace.get("all,configmap,secret,serviceaccount,pdb,networkpolicy,pvc")["items"]]
            self.assertEqual([name for name in left if name not in ("kube-root-ca.crt", "default")], [])

    def test_a_release_with_mutual_tls_recovers_and_every_record_counts_once(self):
        with Namespace("capstan-e2e-tls") as namespace, tempfile.TemporaryDirectory() as folder:
            secrets = certificates(Authority(pathlib.Path(folder) / "authority"), "ctr")
            namespace.apply(claim("models"), records(record_lines()), *secrets)
            names = {role: secret["metadata"]["name"] for role, secret in zip(ROLES, secrets)}
            release = Release(namespace, "ctr", merged(ledger({"policy": "async"}, every="3s"),
                                                       {"tls": {"enabled": True, "secrets": names}}))
            release.install()
            release.scale(2)
            before = release.until(lambda status: int(status["checkpoint"]["taken"]) > 0, "a checkpoint")
            release.delete_pod("ctr-ps-0", force=True)
            release.until(lambda status: int(status["timeline"]) > int(before["timeline"]), "the recovery")
            release.delete_pod("ctr-chief-0", force=True)
            release.until(lambda status: int(status["term"]) > int(before["term"]), "the next chief")
            self.assertEqual(release.goes_on()["state"], "JOB_STATE_RUNNING")
            release.hurry()
            release.wait_job("complete")
            test = release.helm("test", "--timeout=180s", check=False)
            self.assertEqual(test.returncode, 0, test.stdout + test.stderr)
            status = release.status()
            self.assertEqual((status["state"], int(status["examples"])), ("JOB_STATE_COMPLETED", RECORDS))
            self.assertEqual(ledger_times(release, status["model_uri"]), {1: RECORDS})

    def annotated(self, release, revision):
        template = release.namespace.get("deployment", "ctr-worker")["spec"]["template"]["metadata"]
        self.assertEqual(template.get("annotations", {}).get("example.com/revision"), revision)

    def test_a_changed_job_is_refused_and_told_of_while_the_job_goes_on(self):
        told = "train.batch_size: 4 -> 8"
        with Namespace("capstan-e2e-change") as namespace:
            namespace.apply(claim("models"), records(record_lines()))
            release = Release(namespace, "ctr", merged(ledger({"policy": "async"}, every="3s"),
                                                       {"job": {"train": {"epochs": 3}}}))
            release.install()
            before = release.until(lambda status: int(status["checkpoint"]["taken"]) > 0, "a checkpoint")
            pods = self.pods(namespace)
            release.values = merged(release.values, {"job": {"train": {"batch_size": 8}}})
            release.upgrade()
            # The kubelet looks at a pod's volumes once a minute, and when the pod changes.
            namespace.kubectl("annotate", "pod", "ctr-chief-0", "example.com/look=now")
            release.until(lambda status: told in status["job_change"], "word of the change")
            self.assertIn(told, release.command("status").stdout)
            self.assertEqual(self.pods(namespace), pods, "no pod was started again")
            release.delete_pod("ctr-chief-0", force=True)
            release.until(lambda status: int(status["term"]) > int(before["term"]) and told in status["job_change"],
                          "word of the change from the next chief")
            after = release.goes_on()
            self.assertEqual(after["timeline"], before["timeline"])
            self.assertGreater(int(after["examples"]), int(before["examples"]))
            release.values = merged(release.values, {"chief": {"freshStart": "with batches of 8"}})
            release.upgrade()
            fresh = release.until(lambda status: int(status["timeline"]) > int(after["timeline"]), "the fresh start")
            self.assertEqual(fresh["job_change"], "")
            self.assertLess(int(fresh["examples"]), int(after["examples"]))
            release.goes_on()

    def pods(self, namespace):
        return {one["metadata"]["uid"] for one in namespace.get("pods")["items"]
                if one["metadata"]["labels"]["app.kubernetes.io/component"] != "wait"}

    @unittest.skipUnless(KUBE.exists(), "the images of this cluster have no digests that are known here")
    def test_a_release_runs_by_the_digests_of_its_images(self):
        with Namespace("capstan-e2e-digest") as namespace:
            digests = {role: digest_of(role) for role in ("chief", "ps", "worker", "cli")}
            release = Release(namespace, "ctr", merged(
                synthetic(30000), {"image": {"tag": "no-such-tag", "digests": digests}}))
            release.install()
            release.wait_job("complete")
            used = {image for role in ("chief", "ps", "worker", "wait") for pod in release.pods(role)
                    for image in (one["image"] for one in pod["spec"]["containers"])}
            self.assertEqual(used, {f"{IMAGE}/{role}@{digest}" for role, digest in digests.items()})

    def test_two_releases_share_a_namespace_and_one_has_a_long_name_and_network_policies(self):
        with Namespace("capstan-e2e-two") as namespace:
            name = "a-release-whose-name-is-as-long-as-helm-will-have-it"
            short = Release(namespace, "ctr", synthetic(30000))
            long = Release(namespace, name, {**synthetic(30000), "networkPolicy": {"enabled": True}})
            for release in (short, long):
                release.install()
            for release in (short, long):
                release.wait_job("complete")
            # Nobody reaches a release behind its policies, and it reaches nobody else.
            self.assertEqual(self.asks(short, f"{short.prefix}-chief"), 0)
            self.assertEqual(self.asks(long, "localhost"), 0)
            self.assertEqual(self.asks(short, f"{long.prefix}-chief"), 1)
            self.assertEqual(self.asks(long, f"{short.prefix}-chief"), 1)

    def asks(self, one, host):
        """The exit code of `capstan status` in the one's pod, asking a chief at that host."""
        return one.command("status", f"--chief={host}:7000", "--wait=3", check=False).returncode

    def test_a_failed_training_fails_the_wait_job(self):
        with Namespace("capstan-e2e-failed") as namespace:
            text = "".join(f"1,r{i}\n" for i in range(500)) + "no label here\n"
            namespace.apply(claim("models"), records(text))
            release = Release(namespace, "ctr", ledger({"policy": "async"}))
            release.install()
            release.wait_job("failed")
            status = release.status()
            self.assertEqual(status["state"], "JOB_STATE_FAILED")
            self.assertIn("records.csv", status["reason"])

    def test_workers_go_when_training_has_ended_where_that_is_wished(self):
        with Namespace("capstan-e2e-zero") as namespace:
            release = Release(namespace, "ctr", {**synthetic(30000), "wait": {"autoScaleToZero": True},
                                                 "networkPolicy": {"enabled": True}})
            release.install()
            release.scale(2)
            release.wait_job("complete")
            self.assertEqual(namespace.get("deployment", "ctr-worker")["spec"]["replicas"], 0)
            self.assertEqual(release.status()["state"], "JOB_STATE_COMPLETED")
            account = f"--as=system:serviceaccount:{namespace.name}:ctr-wait"
            for words, allowed in ((("patch", "deployments/ctr-worker", "--subresource=scale"), True),
                                   (("patch", "deployments/ctr-worker"), False),
                                   (("patch", "deployments/another", "--subresource=scale"), False),
                                   (("get", "secrets"), False), (("list", "pods"), False)):
                done = namespace.kubectl("auth", "can-i", *words, account, check=False)
                self.assertEqual(done.stdout.strip(), "yes" if allowed else "no", words)

    def test_the_api_server_takes_every_set_of_values(self):
        with Namespace("capstan-e2e-dry") as namespace:
            for values in sorted((CHART / "ci").glob("*-values.yaml")):
                with self.subTest(values=values.name):
                    text = helm("template", "ctr", CHART, "--namespace", namespace.name, "--values", values).stdout
                    ours = [one for one in text.split("\n---\n")
                            if not any(group in one for group in OTHERS)]
                    for one in ours:  # Pods are refused where their account is not there.
                        if "kind: ServiceAccount" in one:
                            namespace.kubectl("apply", "-f", "-", text=one)
                    done = namespace.kubectl("apply", "--dry-run=server", "--validate=strict", "-f", "-",
                                             text="\n---\n".join(ours))
                    # The user's own containers of the set `extras` are not ours to restrict.
                    if values.name != "extras-values.yaml":
                        self.assertNotIn("would violate", done.stderr)


if __name__ == "__main__":
    require_cluster()
    unittest.main(verbosity=2)
