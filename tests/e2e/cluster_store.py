"""The object store of the cluster that $CAPSTAN_KUBE starts, asked from inside of the cluster, with anybody's keys."""

import base64
import tempfile
import time

import s3
from cluster import KUBE, run

ENDPOINT = "http://s3.capstan-s3.svc.cluster.local:9000"
OWNER = {"AWS_ACCESS_KEY_ID": "capstan", "AWS_SECRET_ACCESS_KEY": "capstan-secret"}  # As `kube s3 up` makes them.
DAY = 86400


def ask(method, path, keys, *more, service="s3"):
    """The HTTP status of its answer, and the body. `more`: further words for curl."""
    headers = {"x-amz-content-sha256": "UNSIGNED-PAYLOAD"} if service == "s3" else {}
    if "AWS_SESSION_TOKEN" in keys:
        headers["x-amz-security-token"] = keys["AWS_SESSION_TOKEN"]
    signed = [word for name, value in headers.items() for word in ("--header", f"{name}: {value}")]
    user = f"{keys['AWS_ACCESS_KEY_ID']}:{keys['AWS_SECRET_ACCESS_KEY']}"
    said = run(KUBE, "exec", "--", "curl", "--silent", "--show-error", "--max-time", "30", "--aws-sigv4", f"aws:amz:us-east-1:{service}",
               "--user", user, *signed, *more, "--request", method, "--write-out", "\n%{http_code}", ENDPOINT + path).stdout
    body, _, status = said.rpartition("\n")
    return int(status), body


def put(path, text):
    with tempfile.NamedTemporaryFile("w") as file:
        file.write(text)
        file.flush()
        status, said = ask("PUT", path, OWNER, "--data-binary", f"@{file.name}")
    if status != 200:
        raise AssertionError(f"the object store does not take {path}: HTTP {status}: {said}")


def keys_for(policy, timeout=60):
    """Keys that may do what this policy (JSON) says and no more, for a day: {variable: value}."""
    deadline = time.monotonic() + timeout
    while True:
        status, said = ask("POST", "/", OWNER, "--data", s3.asked_for_keys(policy, DAY), service="sts")
        if status == 200:
            return s3.given_keys(said)
        if status != 503 or time.monotonic() > deadline:  # One that has just been started may not know of keys yet.
            raise AssertionError(f"the object store gives no keys: HTTP {status}: {said}")
        time.sleep(0.5)


def keys_of(namespace, pod):
    """Those that a pod has, as its Secret holds them: {variable: value}."""
    name, = (volume["secret"]["secretName"] for volume in pod["spec"]["volumes"] if volume["name"] == "s3-keys")
    return {variable: base64.b64decode(value).decode() for variable, value in namespace.get("secret", name)["data"].items()}
