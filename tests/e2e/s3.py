"""A real S3 server (MinIO) as a process on loopback, with a bucket, for the end-to-end tests."""

import datetime
import glob
import hashlib
import hmac
import os
import pathlib
import re
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

from held_port import HeldPort

ACCESS_KEY, SECRET_KEY = "capstan-test", "secret-of-capstan-test"
BUCKET = "capstan"


def find_program():
    """The program that CAPSTAN_TEST_S3_SERVER names, the one that the cluster's tests have built, or None."""
    home = os.environ.get("CAPSTAN_KUBE_HOME", os.path.expanduser("~/.cache/capstan-kube"))
    built = sorted(glob.glob(f"{home}/bin-*/minio"))
    return os.environ.get("CAPSTAN_TEST_S3_SERVER") or (built[-1] if built else None)


def documented_policies(bucket, data="train", models="models"):
    """Those of docs/s3.md, as JSON, for data in one folder of a bucket and the jobs of another: of the chief and the shards, of
    workers, and of who serves."""
    names = {"ads": bucket, "train": data, "ctr": models}
    text = (pathlib.Path(__file__).resolve().parents[2] / "docs" / "s3.md").read_text()
    policies = re.findall(r"```json\n(\{\"Version.*?)```", text, re.DOTALL)
    if len(policies) != 3:
        raise AssertionError(f"docs/s3.md has {len(policies)} policies, expected three")
    return [re.sub(r'(?<=:::)ads\b|(?<=["/])(?:train|ctr)(?=/\*")', lambda name: names[name[0]], policy) for policy in policies]


def asked_for_keys(policy, seconds=3600):
    """The form of a request for keys that last so long and may do what the policy says; `given_keys` reads its answer."""
    return urllib.parse.urlencode({"Action": "AssumeRole", "Version": "2011-06-15", "DurationSeconds": seconds, "Policy": policy})


def given_keys(answer):
    """{variable: value}"""
    return {variable: answer.split(f"<{name}>")[1].split("<")[0] for variable, name in (
        ("AWS_ACCESS_KEY_ID", "AccessKeyId"), ("AWS_SECRET_ACCESS_KEY", "SecretAccessKey"), ("AWS_SESSION_TOKEN", "SessionToken"))}


class S3Server:
    """In the environment of processes that are started meanwhile, `s3://capstan` is a bucket of this server."""

    def __enter__(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="capstan-s3-"))
        self.port = HeldPort()
        self.host = self.port.address
        log = open(self.folder / "log", "wb")
        self.process = subprocess.Popen(
            [find_program(), "server", "--quiet", "--anonymous", "--address", self.host,
             self.folder / "data"], stdout=log, stderr=log, stdin=subprocess.DEVNULL,
            env={**os.environ, "MINIO_ROOT_USER": ACCESS_KEY, "MINIO_ROOT_PASSWORD": SECRET_KEY,
                 "MINIO_UPDATE": "off", "MINIO_BROWSER": "off", "HOME": str(self.folder)})
        log.close()
        self.variables = {"AWS_ENDPOINT_URL_S3": f"http://{self.host}", "AWS_ACCESS_KEY_ID": ACCESS_KEY,
                          "AWS_SECRET_ACCESS_KEY": SECRET_KEY, "CAPSTAN_S3_ALLOW_HTTP": "true"}
        os.environ.update(self.variables)
        deadline = time.monotonic() + 30
        while True:
            try:
                self.request("PUT", f"/{BUCKET}")
                return self
            except OSError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.1)

    def __exit__(self, *_):
        for name in self.variables:
            del os.environ[name]
        self.process.send_signal(signal.SIGCONT)
        self.process.kill()
        self.process.wait()
        self.port.close()
        shutil.rmtree(self.folder)

    def put(self, key, content):
        self.request("PUT", f"/{BUCKET}/{key}", content)

    def get(self, key):
        return self.request("GET", f"/{BUCKET}/{key}")

    def delete(self, key):
        self.request("DELETE", f"/{BUCKET}/{key}")

    def keys(self, prefix):
        listing = self.request("GET", f"/{BUCKET}", query=f"list-type=2&prefix={prefix.replace('/', '%2F')}")
        return [part.split("</Key>")[0] for part in listing.decode().split("<Key>")[1:]]

    def keys_for(self, policy):
        """Temporary keys that may do what this policy (JSON) says and no more: {variable: value}."""
        return given_keys(self.request("POST", "/", asked_for_keys(policy).encode(), service="sts",
                                       headers={"Content-Type": "application/x-www-form-urlencoded"}).decode())

    def request(self, method, path, content=b"", query="", service="s3", keys=None, headers=None):
        """Signed as AWS wants it, with the server's own keys or those of keys_for; the answer's body."""
        keys = keys or self.variables
        now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y%m%dT%H%M%SZ")
        shown = {"host": self.host, "x-amz-content-sha256": hashlib.sha256(content).hexdigest(), "x-amz-date": now}
        if "AWS_SESSION_TOKEN" in keys:
            shown["x-amz-security-token"] = keys["AWS_SESSION_TOKEN"]
        signed = ";".join(shown)
        canonical = "\n".join([method, path, query, *(f"{name}:{value}" for name, value in shown.items()), "", signed,
                               shown["x-amz-content-sha256"]])
        scope = f"{now[:8]}/us-east-1/{service}/aws4_request"
        key = b"AWS4" + keys["AWS_SECRET_ACCESS_KEY"].encode()
        for part in scope.split("/"):
            key = hmac.digest(key, part.encode(), "sha256")
        text = f"AWS4-HMAC-SHA256\n{now}\n{scope}\n{hashlib.sha256(canonical.encode()).hexdigest()}"
        signature = hmac.digest(key, text.encode(), "sha256").hex()
        request = urllib.request.Request(
            f"http://{self.host}{path}?{query}", data=content or None, method=method,
            headers={**(headers or {}), **shown, "Authorization":
                     f"AWS4-HMAC-SHA256 Credential={keys['AWS_ACCESS_KEY_ID']}/{scope}, SignedHeaders={signed}, "
                     f"Signature={signature}"})
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.read()
