"""The external metrics API of Kubernetes, made of a Prometheus's series: what an adapter is on a real cluster. One metric at a time, by
its name, its namespace and the labels that are asked for.

    external_metrics.py HOST PORT CERTIFICATE KEY PROMETHEUS_URL
"""

import datetime
import http.server
import json
import ssl
import sys
import urllib.parse
import urllib.request

GROUP = "external.metrics.k8s.io/v1beta1"
ROOT = f"/apis/{GROUP}"


def _values(prometheus, namespace, metric, labels):
    wanted = ",".join(f"{name}={json.dumps(value)}" for name, value in {**labels, "namespace": namespace}.items())
    query = urllib.parse.urlencode({"query": f"{metric}{{{wanted}}}"})
    with urllib.request.urlopen(f"{prometheus}/api/v1/query?{query}", timeout=5) as reply:
        series = json.load(reply)["data"]["result"]
    now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    return {"kind": "ExternalMetricValueList", "apiVersion": GROUP, "metadata": {},
            "items": [{"metricName": metric, "metricLabels": labels, "timestamp": now, "value": one["value"][1]} for one in series]}


def handler(prometheus):
    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            url = urllib.parse.urlsplit(self.path)
            words = url.path.removeprefix(ROOT).strip("/").split("/")
            if len(words) == 3 and words[0] == "namespaces":
                selector = urllib.parse.parse_qs(url.query).get("labelSelector", [""])[0]
                labels = dict(pair.split("=", 1) for pair in selector.split(",") if pair)
                self.answer(_values(prometheus, words[1], words[2], labels))
            else:  # Is the API there? What does it hold?
                self.answer({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": GROUP, "resources": []})

        def answer(self, document):
            body = json.dumps(document).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    return Handler


def main():
    host, port, certificate, key, prometheus = sys.argv[1:]
    server = http.server.ThreadingHTTPServer((host, int(port)), handler(prometheus))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
