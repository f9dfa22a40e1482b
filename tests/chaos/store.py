"""An object store that speaks as much of S3 as a job needs, and has bad days. As a program it serves one bucket:

    store.py HOST PORT

PUT /-/weather with a JSON object changes how it behaves from the next request on; what is left out is fair:
    {"slow": s}         every answer takes s seconds
    {"refuse": p}       a share p of requests is answered 503 SlowDown, and nothing is done
    {"lose": p}         a share p is carried out, but the connection ends without an answer
    {"tear": p}         a share p of answers with a body ends within it
    {"full": true}      what is written is refused: 507
"""

import hashlib
import http.server
import json
import random
import re
import sys
import threading
import time
import urllib.parse
from xml.sax import saxutils


class Bucket:
    """Objects: (bytes, tag, headers). Thread-safe."""

    def __init__(self):
        self.lock = threading.Lock()
        self.objects = {}
        self.weather = {}

    def put(self, key, content, headers, if_match, if_none_match):
        tag = f'"{hashlib.md5(content).hexdigest()}"'
        with self.lock:
            present = self.objects.get(key)
            if if_none_match and present or if_match and present and present[1] != if_match:
                return 412, tag
            if if_match and not present:
                return 404, tag
            self.objects[key] = (content, tag, headers)
        return 200, tag

    def keys(self, prefix, after):
        with self.lock:
            return sorted(key for key in self.objects if key.startswith(prefix) and key > after)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    bucket = Bucket()

    def log_message(self, *_):
        pass

    # ---- weather ----

    def struck(self, name):
        return random.random() < self.bucket.weather.get(name, 0)

    def handle_request(self):
        length = int(self.headers.get("content-length", 0))
        body = self.rfile.read(length)
        if len(body) < length:  # Its sender has died. An object is whole, or it is not there.
            self.close_connection = True
            return
        url = urllib.parse.urlsplit(self.path)
        if url.path == "/-/weather":
            self.bucket.weather = json.loads(body)
            return self.answer(200)
        time.sleep(self.bucket.weather.get("slow", 0))
        if self.struck("refuse"):
            return self.fail(503, "SlowDown")
        self.lost = self.struck("lose")
        _, _, key = urllib.parse.unquote(url.path).lstrip("/").partition("/")
        query = dict(urllib.parse.parse_qsl(url.query, keep_blank_values=True))
        getattr(self, f"on_{self.command}")(key, query, body)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = handle_request

    # ---- requests ----

    def on_PUT(self, key, query, body):
        if self.bucket.weather.get("full"):
            return self.fail(507, "QuotaExceeded")
        kept = {name: value for name, value in self.headers.items() if name.lower().startswith("x-amz-meta-")}
        status, tag = self.bucket.put(key, body, kept, self.headers.get("if-match"), self.headers.get("if-none-match"))
        if status != 200:
            return self.fail(status, "PreconditionFailed" if status == 412 else "NoSuchKey")
        self.answer(200, headers={"etag": tag})

    def on_GET(self, key, query, body):
        if "list-type" in query:
            return self.list(query)
        found = self.bucket.objects.get(key)
        if found is None:
            return self.fail(404, "NoSuchKey")
        content, tag, headers = found
        wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("range", ""))
        if wanted is None:
            return self.answer(200, content, {"etag": tag, **headers})
        first, last = int(wanted[1]), min(int(wanted[2] or len(content) - 1), len(content) - 1)
        if first > last:
            return self.fail(416, "InvalidRange")
        self.answer(206, content[first:last + 1],
                    {"etag": tag, "content-range": f"bytes {first}-{last}/{len(content)}", **headers})

    on_HEAD = on_GET

    def on_DELETE(self, key, query, body):
        self.bucket.objects.pop(key, None)
        self.answer(204)

    def on_POST(self, key, query, body):
        for name in re.findall(r"<Key>(.*?)</Key>", body.decode()):
            self.bucket.objects.pop(saxutils.unescape(name), None)
        self.answer(200, b"<DeleteResult></DeleteResult>")

    def list(self, query):
        most = int(query.get("max-keys", 1000))
        keys = self.bucket.keys(query.get("prefix", ""), query.get("continuation-token") or query.get("start-after", ""))
        page = keys[:most]
        entries = "".join(f"<Contents><Key>{urllib.parse.quote(key)}</Key>"
                          f"<Size>{len(self.bucket.objects[key][0])}</Size></Contents>"
                          for key in page if key in self.bucket.objects)
        more = f"<NextContinuationToken>{page[-1]}</NextContinuationToken>" if len(keys) > most else ""
        self.answer(200, (f"<ListBucketResult><EncodingType>url</EncodingType>{entries}"
                          f"<IsTruncated>{'true' if more else 'false'}</IsTruncated>{more}</ListBucketResult>").encode())

    # ---- answers ----

    def fail(self, status, code):
        self.lost = False
        self.answer(status, f"<Error><Code>{code}</Code><Message>as asked</Message></Error>".encode())

    def answer(self, status, body=b"", headers=()):
        if getattr(self, "lost", False):
            self.close_connection = True
            return
        self.send_response(status)
        for name, value in dict(headers).items():
            self.send_header(name, value)
        if status != 204:
            self.send_header("content-length", str(len(body)))
        self.end_headers()
        if self.command == "HEAD":
            return
        if body and self.struck("tear"):
            body, self.close_connection = body[:len(body) // 2], True
        self.wfile.write(body)


class Server(http.server.ThreadingHTTPServer):
    request_queue_size = 128

    def handle_error(self, *_):
        pass  # A client that was killed.


if __name__ == "__main__":
    Server((sys.argv[1], int(sys.argv[2])), Handler).serve_forever()
