"""The chart on a real cluster, in namespaces under the restricted Pod Security Standard: training completes while
workers come and go, every record counts once, and nothing is left behind. Skips, loudly, without a cluster."""

import concurrent.futures
import os
import pathlib
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent))
sys.dont_write_bytecode = True
from authority import ROLES, Authority
from cluster import CHART, IMAGE, KUBE, SMALL, TAG, Namespace, Release, digest_of, helm, merged, require_cluster
from cluster_jobs import RECORDS, certificates, claim, ledger, ledger_times, record_lines, records, synthetic

# Groups of the API whose definitions this cluster does not have.
OTHERS = ("monitoring.coreos.com", "keda.sh", "cert-manager.io/v1")


class KubernetesTest(unittest.TestCase):

    def test_workers_come_and_go_and_every_record_counts_once(self):
        """1 -> 5 -> 2 -> 0 -> 3 in the middle of training, in each policy."""
        for policy in ({"policy": "async"}, {"policy": "ssp", "staleness": 4}, {"policy": "sync", "lanes": 3}):
            with self.subTest(policy=policy["policy"]), Namespace(f"capstan-e2e-ledger-{policy['policy']}") as namespace:
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
            namespace.kubectl("delete", "pod", "ctr-test")  # It stays for `helm test --logs`, and is none of what helm uninstalls.
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

    @unittest.skipUnless(KUBE, "the images of this cluster have no digests that are known here")
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
        """A third one, too: they train at the same time, one in each policy, on the same records, and save on the same claim."""
        with Namespace("capstan-e2e-two") as namespace:
            namespace.apply(claim("models"), records(record_lines()))
            name = "a-release-whose-name-is-as-long-as-helm-will-have-it"
            short = Release(namespace, "ctr", ledger({"policy": "async"}))
            third = Release(namespace, "ctr-2", ledger({"policy": "ssp", "staleness": 4}))
            long = Release(namespace, name, {**ledger({"policy": "sync", "lanes": 3}), "networkPolicy": {"enabled": True}})
            for release in (short, long, third):
                release.install()
            for release in (short, long, third):
                self.assertEqual(release.goes_on()["state"], "JOB_STATE_RUNNING", "all of them train at the same time")
            for release in (short, long, third):
                release.hurry()
            for release in (short, long, third):
                release.wait_job("complete")
                status = release.status()
                self.assertEqual((status["state"], int(status["examples"])), ("JOB_STATE_COMPLETED", RECORDS))
                self.assertEqual(ledger_times(release, status["model_uri"]), {1: RECORDS}, release.name)
            # Chiefs ask each other whether they are still there. Else nobody reaches a release behind its policies.
            for one, other in ((short, short), (long, long), (short, long), (long, short)):
                said = one.command("status", f"--chief={other.prefix}-chief:7000", "--wait=3", check=False)
                self.assertEqual(said.returncode, 0, (one.prefix, other.prefix, said.stderr))
            self.assertEqual(self.end_of_a_stranger(namespace, f"{short.prefix}-chief"), "Succeeded")
            self.assertEqual(self.end_of_a_stranger(namespace, f"{long.prefix}-chief"), "Failed")

    def end_of_a_stranger(self, namespace, host):
        """How a pod of no release ends that asks a chief at that host: Succeeded, or Failed where it gets no answer."""
        name = f"stranger-{host}"
        namespace.apply({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {
            "restartPolicy": "Never",
            "securityContext": {"runAsNonRoot": True, "runAsUser": 65532, "seccompProfile": {"type": "RuntimeDefault"}},
            "containers": [{"name": "asks", "image": f"{IMAGE}/cli:{TAG}", "args": ["status", f"--chief={host}:7000", "--wait=3"],
                            "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}}]}})
        deadline = time.monotonic() + 60
        while (phase := namespace.get("pod", name)["status"]["phase"]) not in ("Succeeded", "Failed"):
            self.assertLess(time.monotonic(), deadline, phase)
            time.sleep(0.5)
        return phase

    def test_a_release_serves_its_newest_version(self):
        """From before there is any, to that of the finished job; nobody asks in vain once there is one."""
        with Namespace("capstan-e2e-serve") as namespace:
            namespace.apply(claim("models"))
            release = Release(namespace, "ctr", merged(synthetic(60000, checkpoint={"uri": "file:///checkpoints", "every": "2s"}), {
                "checkpoint": {"volume": {"persistentVolumeClaim": {"claimName": "models"}}},
                "serve": {"enabled": True, "extraArgs": ["--every=1"], "resources": SMALL["ps"]["resources"]}}))
            release.install()
            namespace.kubectl("rollout", "status", "deployment/ctr-serve", "--timeout=180s")
            record = ",".join(["x"] * 39)
            versions = []
            deadline = time.monotonic() + 180
            while not versions or not release.status()["model_uri"].endswith("/" + versions[-1]):
                self.assertLess(time.monotonic(), deadline, versions)
                answer = release.scores(record)
                self.assertTrue(0 < answer["outputs"][0]["data"][0] < 1, answer)
                versions.append(answer["model_version"])
            release.wait_job("complete")
            self.assertEqual(sorted(versions), versions, "never an older one again")
            namespace.kubectl("rollout", "restart", "deployment/ctr-serve")
            rollout = concurrent.futures.ThreadPoolExecutor().submit(
                namespace.kubectl, "rollout", "status", "deployment/ctr-serve", "--timeout=120s")
            asked = 0
            while not rollout.done() or len(release.pods("serve")) > 1:
                release.scores(record)  # Raises where nobody answers.
                asked += 1
            rollout.result()
            self.assertGreater(asked, 10)

    def test_a_failed_training_fails_the_wait_job(self):
        with Namespace("capstan-e2e-failed") as namespace:
            # Behind what the chief looks at before it trains anything, which it would refuse.
            text = "".join(f"1,r{i}\n" for i in range(12000)) + "no label here\n"
            namespace.apply(claim("models"), records(text))
            values = ledger({"policy": "async"})
            values["job"]["train"]["batch_size"] = 64
            release = Release(namespace, "ctr", values)
            release.install()
            self.assertIn("Failed", release.wait_for_end())
            status = release.status()
            self.assertEqual(status["state"], "JOB_STATE_FAILED")
            self.assertIn("records.csv", status["reason"])
            watched = release.ask("status", "--watch", check=False)
            self.assertEqual(watched.returncode, 1, watched.stdout + watched.stderr)
            self.assertIn("records.csv", watched.stdout)

    def test_a_job_that_is_refused_says_why_fails_the_wait_job_and_is_trained_when_it_is_corrected(self):
        with Namespace("capstan-e2e-refused") as namespace:
            wrong = merged(synthetic(30000), {"job": {"train": {"bacth_size": 8}}, "wait": {"refusalPatienceSeconds": 5}})
            release = Release(namespace, "ctr", wrong)
            release.install()
            self.assertIn("Failed", release.wait_for_end())
            log = namespace.kubectl("logs", "--selector=capstan/wait=ctr").stdout
            self.assertIn("train.bacth_size: unknown key", log)
            asked = release.ask("status")
            self.assertIn("train.bacth_size: unknown key", asked.stdout)
            chief, = release.pods("chief")
            state, = chief["status"]["containerStatuses"]
            self.assertEqual(state["restartCount"], 0, "it is no crash loop")
            self.assertFalse(state["ready"])
            release.values = merged(SMALL, synthetic(30000))
            release.upgrade()
            # The kubelet looks at a pod's volumes once a minute, and when the pod changes.
            namespace.kubectl("annotate", "pod", "ctr-chief-0", "example.com/look=now")
            self.assertIn("Complete", release.wait_for_end())
            self.assertEqual(release.pods("chief")[0]["status"]["containerStatuses"][0]["restartCount"], 0)

    def test_images_that_are_not_there_are_healed_by_a_rollback_alone(self):
        with Namespace("capstan-e2e-rollback") as namespace:
            release = Release(namespace, "ctr", {**synthetic(2000000), "worker": {"replicas": 2}})
            release.install("--wait", "--timeout=120s")
            release.until_examples(2000)
            waiting = concurrent.futures.ThreadPoolExecutor(1).submit(release.wait_for_end, timeout=60)
            release.helm("upgrade", CHART, "--reuse-values", "--set", "image.tag=is-not-there")
            with self.assertRaises(AssertionError, msg="the Job that was waited for has been replaced, and is not complete"):
                waiting.result(180)
            for role in ("chief", "ps", "worker"):
                self.until_waits_for_image(release, role)
            said = release.ask("status", "--wait=0", check=False)
            self.assertEqual(said.returncode, 1)
            self.assertRegex(said.stdout + said.stderr, r"ctr-chief-0 cannot start \((ErrImagePull|ImagePullBackOff)\)")
            release.helm("rollback")
            release.goes_on(timeout=180)
            self.assertIn("ps-1", release.ask("status").stdout)

    def until_waits_for_image(self, release, role, timeout=120):
        deadline = time.monotonic() + timeout
        while True:
            states = [status.get("state", {}).get("waiting", {}).get("reason", "") for pod in release.pods(role)
                      for status in pod["status"].get("containerStatuses", [])]
            if {"ErrImagePull", "ImagePullBackOff"} & set(states):
                return
            self.assertLess(time.monotonic(), deadline, f"{role}: {states}")
            time.sleep(0.3)

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
