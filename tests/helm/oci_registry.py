"""A registry of the OCI distribution specification on loopback, as far as helm needs one to push a chart and to pull it. What it
holds is an OCI image layout: a folder that another one serves again, or that is carried to where there is no network."""

import hashlib
import http.server
import json
import pathlib
import re
import threading
import urllib.parse

INDEX = "application/vnd.oci.image.index.v1+json"
REFERENCE = "org.opencontainers.image.ref.name"


class Layout:
    """The folder, which is made if it is not there."""

    def __init__(self, folder):
        self.blobs = pathlib.Path(folder) / "blobs" / "sha256"
        self.index_file = pathlib.Path(folder) / "index.json"
        self.blobs.mkdir(parents=True, exist_ok=True)
        if not self.index_file.exists():
            (pathlib.Path(folder) / "oci-layout").write_text('{"imageLayoutVersion": "1.0.0"}')
            self._write([])

    def manifests(self):
        return json.loads(self.index_file.read_text())["manifests"]

    def _write(self, manifests):
        self.index_file.write_text(json.dumps({"schemaVersion": 2, "mediaType": INDEX, "manifests": manifests}))

    def put(self, data):
        digest = "sha256:" + hashlib.sha256(data).hexdigest()
        self.path(digest).write_bytes(data)
        return digest

    def path(self, digest):
        """Of a blob; of what is no digest, a file that is not there."""
        found = re.fullmatch("sha256:([0-9a-f]{64})", digest)
        return self.blobs / (found[1] if found else "none")

    def tag(self, reference, data, kind):
        """A manifest, by a tag, or by its digest alone, as helm sends it first."""
        digest = self.put(data)
        named = {} if reference == digest else {"annotations": {REFERENCE: reference}}
        others = [one for one in self.manifests() if one["digest"] != digest and tag_of(one) != reference]
        self._write([*others, {"mediaType": kind, "digest": digest, "size": len(data), **named}])
        return digest

    def resolve(self, reference):
        """(digest, media type) of a tag or of a digest, or None."""
        for one in self.manifests():
            if reference in (tag_of(one), one["digest"]):
                return one["digest"], one["mediaType"]
        return None


def tag_of(entry):
    return entry.get("annotations", {}).get(REFERENCE)


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, code, body=b"", **headers):
        self.send_response(code)
        for name, value in {"Content-Length": len(body), **headers}.items():
            self.send_header(name.replace("_", "-"), str(value))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def body(self):
        return self.rfile.read(int(self.headers.get("Content-Length", 0)))

    def do_GET(self):
        layout, path = self.server.layout, urllib.parse.urlsplit(self.path).path
        if path == "/v2/":
            self.answer(200)
        elif found := re.fullmatch("/v2/.+/manifests/(.+)", path):
            digest, kind = layout.resolve(found[1]) or ("", "")
            if not digest:
                self.answer(404)
            else:
                self.answer(200, layout.path(digest).read_bytes(), Content_Type=kind, Docker_Content_Digest=digest)
        elif (found := re.fullmatch("/v2/.+/blobs/(.+)", path)) and layout.path(found[1]).exists():
            self.answer(200, layout.path(found[1]).read_bytes(), Content_Type="application/octet-stream",
                        Docker_Content_Digest=found[1])
        elif found := re.fullmatch("/v2/(.+)/tags/list", path):
            tags = [tag for one in layout.manifests() if (tag := tag_of(one))]
            self.answer(200, json.dumps({"name": found[1], "tags": tags}).encode(), Content_Type="application/json")
        else:
            self.answer(404)

    do_HEAD = do_GET

    def do_POST(self):
        self.body()
        self.answer(202, Location=urllib.parse.urlsplit(self.path).path.rstrip("/") + "/1")

    def do_PUT(self):
        layout, url, data = self.server.layout, urllib.parse.urlsplit(self.path), self.body()
        if found := re.fullmatch("/v2/.+/manifests/(.+)", url.path):
            digest = layout.tag(found[1], data, self.headers["Content-Type"])
            self.answer(201, Location=url.path, Docker_Content_Digest=digest)
            return
        wanted, = urllib.parse.parse_qs(url.query)["digest"]
        if wanted != "sha256:" + hashlib.sha256(data).hexdigest():
            self.answer(400)
            return
        self.answer(201, Location=url.path.partition("/uploads/")[0] + "/" + layout.put(data), Docker_Content_Digest=wanted)


class Registry:
    """Serves the layout in a folder until it is left; `host` is its address."""

    def __init__(self, folder):
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self.server.layout = Layout(folder)
        self.host = f"127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()
