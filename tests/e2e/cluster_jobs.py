"""Jobs for tests on a cluster, as values of the chart: one whose model is a ledger of records, and synthetic ones."""

import cluster_store
from authority import ROLES
from ledger import RATE as LEDGER_RATE
from s3 import documented_policies

RECORDS = 12000


def synthetic(rows, **more):
    return {"job": {"data": {"format": "synthetic", "synthetic": {"train_rows": rows, "eval_rows": 5000}},
                    "model": {"preset": "fm", "embedding_dim": 4, "hidden": None},
                    "train": {"batch_size": 128}, **more}}


def steady(milliseconds):
    """Workers that take so long for a batch, on any machine; Release.hurry has them go as fast as they can."""
    return {"extraArgs": [f"--min-step-ms={milliseconds}"]}


def ledger(update, every=None):
    """A job over the records of the ConfigMap `records`, saved on the claim `models`: 80 records a second and worker."""
    return {
        "job": {
            "data": {"format": "csv", "train": "/data/records.csv", "schema": {"label": 0, "categorical": "1"},
                     "task_bytes": "2KiB", "synthetic": None},
            "model": {"preset": None, "towers": [{"kind": "linear"}], "loss": "logistic", "embedding_dim": None,
                      "hidden": None},
            "optimizer": {"sparse": {"kind": "sgd", "learning_rate": LEDGER_RATE},
                          "dense": {"kind": "sgd", "learning_rate": LEDGER_RATE}},
            "update": {"sparse": update, "dense": update},
            "train": {"batch_size": 4, "gradient": "sum"},
            "checkpoint": {"uri": "file:///checkpoints/models", **({"every": every} if every else {})},
            "worker_lease": "3s", "heartbeat": "200ms"},
        "data": {"volume": {"configMap": {"name": "records"}}},
        "checkpoint": {"volume": {"persistentVolumeClaim": {"claimName": "models"}}},
        "worker": {"replicas": None, **steady(50)},
    }


def in_bucket(bucket, every, data="train", models="models"):
    """A job's checkpoints in the folder `models` of a bucket of the cluster's object store, which is there. The chief and the shards
    have keys under their policy of docs/s3.md, and the workers under theirs, by which they may read the folder `data`. `secrets`
    are to be applied, and are no values."""
    policies = dict(zip(("bucket", "reader"), documented_policies(bucket, data, models)))
    secrets = [{"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": cluster_store.keys_for(policy)}
               for name, policy in policies.items()]
    return {
        "secrets": secrets,
        "s3": {"endpoint": cluster_store.ENDPOINT, "region": "us-east-1",
               "existingSecret": "bucket", "workerSecret": "reader", "allowHttp": True},
        "job": {"checkpoint": {"uri": f"s3://{bucket}/{models}", "every": every}},
    }


def record_lines():
    return "".join(f"1,r{i:07d}\n" for i in range(RECORDS))


def claim(name):
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name},
            "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}}


def certificates(authority, job):
    """A secret for each of authority.ROLES; the chief's pod is where people call `capstan`."""
    return [secret_of(authority, f"{role}-certificate", [f"{role}.{job}.capstan"] + ([f"admin.{job}.capstan"] if role == "chief" else []))
            for role in ROLES]


def secret_of(authority, name, dns_names):
    """With a certificate of these names."""
    folder = authority.issue(authority.folder / name, dns_names)
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name},
            "stringData": {file: (folder / file).read_text() for file in ("tls.crt", "tls.key", "ca.crt")}}


def records(text):
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "records"}, "data": {"records.csv": text}}


def ledger_times(release, model, data="/data/records.csv"):
    """How often each record of `data` was trained, as a command in the chief's pod says it: {times: records}."""
    scores = [float(line.split(",")[-1]) for line in
              release.command("predict", model.removeprefix("file://"), data).stdout.splitlines()]
    # A weight is rate / 2 for each time; the score is 1 / (1 + e^-weight), near 1/2 + weight / 4.
    times = [round((score - 0.5) * 8 / LEDGER_RATE) for score in scores]
    return {count: times.count(count) for count in set(times)}
