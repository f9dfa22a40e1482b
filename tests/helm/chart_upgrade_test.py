"""What the chart makes of what it finds in the cluster, which here is an HTTP server that has one StatefulSet."""

import contextlib
import http.server
import json
import pathlib
import sys
import threading
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))
from chart import CHART, JOB, helm, objects, of_kind, require_helm, values_of

import yaml

RESOURCES = {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "apps/v1", "resources": [
    {"name": "statefulsets", "singularName": "statefulset", "namespaced": True, "kind": "StatefulSet", "verbs": ["get", "list"]}]}
GROUPS = {"kind": "APIGroupList", "apiVersion": "v1", "groups": [
    {"name": "apps", "versions": [{"groupVersion": "apps/v1", "version": "v1"}], "preferredVersion": {"groupVersion": "apps/v1", "version": "v1"}}]}


@contextlib.contextmanager
def cluster_with(found):
    """The address of a cluster that has this object and nothing else."""
    there = {"/version": {"major": "1", "minor": "34", "gitVersion": "v1.34.0"}, "/apis": GROUPS, "/apis/apps/v1": RESOURCES,
             "/api": {"kind": "APIVersions", "versions": ["v1"]},
             "/api/v1": {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": "v1", "resources": []},
             f"/apis/apps/v1/namespaces/training/statefulsets/{found['metadata']['name']}": found}

    class Handler(http.server.BaseHTTPRequestHandler):

        def do_GET(self):
            answer = there.get(self.path.split("?")[0])
            body = json.dumps(answer or {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}).encode()
            self.send_response(200 if answer else 404)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


def shards_of(values, wanted, there):
    """The StatefulSet of the shards of a release with the values of such a set, with so many shards wanted and pods there."""
    made, = of_kind(objects("--values", values), "StatefulSet", "ps")
    made["spec"]["replicas"] = wanted
    return {**made, "status": {"replicas": there}}


class ChartUpgradeTest(unittest.TestCase):

    def upgraded(self, found, *arguments):
        with cluster_with(found) as address:
            return helm("template", "ctr", CHART, "--namespace", "training", "--dry-run=server", "--kube-apiserver", address,
                        "--disable-openapi-validation", *arguments)

    def test_an_upgrade_that_turns_tls_on_or_off_is_refused_while_shards_are_there(self):
        for before, after, has in ((JOB, values_of("mtls"), "false"), (values_of("mtls"), JOB, "true")):
            for wanted, there in ((2, 2), (0, 1)):
                done = self.upgraded(shards_of(before, wanted, there), "--values", after)
                self.assertIn(f"pods of the StatefulSet ctr-ps are there for which it is {has}: they and their successors would wait", done.stderr)
                self.assertIn("kubectl --namespace training scale statefulset/ctr-ps --replicas=0", done.stderr)
            done = self.upgraded(shards_of(before, 0, 0), "--values", after)
            self.assertEqual(done.returncode, 0, done.stderr)
            done = self.upgraded(shards_of(before, 2, 2), "--values", after, "--set", "tls.switchWithShards=true")
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_an_upgrade_that_leaves_tls_as_it_is_is_not_refused(self):
        for values in (JOB, values_of("mtls")):
            done = self.upgraded(shards_of(values, 2, 2), "--values", values, "--set", "image.tag=v7")
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_the_number_of_an_autoscaler_stays_and_shards_that_were_taken_away_come_back(self):
        for wanted, made in ((5, 5), (0, 3)):
            done = self.upgraded(shards_of(values_of("hpa-ps"), wanted, wanted), "--values", values_of("hpa-ps"))
            self.assertEqual(done.returncode, 0, done.stderr)
            shards, = of_kind([one for one in yaml.safe_load_all(done.stdout) if one], "StatefulSet", "ps")
            self.assertEqual(shards["spec"]["replicas"], made)


if __name__ == "__main__":
    require_helm()
    unittest.main(verbosity=2)
