"""Schemas of the custom resources that the chart makes: those of their own projects, from the Go modules that hold them.
Nothing of them is kept here. As a program: has `go` download each module into its cache, once, and check its sum; the
tests only look there."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import yaml

MODULES = {  # {kind: (module, version, its sum, file)}; old ones, since newer ones only add fields.
    "Certificate": ("github.com/cert-manager/cert-manager", "v1.12.0",
                    "h1:CWIZeWop7RwFCIKgSzsxFFGcI2nvudkOICBMDY7SKuI=", "deploy/crds/crd-certificates.yaml"),
    "PodMonitor": ("github.com/prometheus-operator/prometheus-operator", "v0.75.2",
                   "h1:0oUMm/TbLojGi1b+EKO1JYKkUqqUhozIiDYYg7DIqVI=",
                   "example/prometheus-operator-crd/monitoring.coreos.com_podmonitors.yaml"),
    "PrometheusRule": ("github.com/prometheus-operator/prometheus-operator", "v0.75.2",
                       "h1:0oUMm/TbLojGi1b+EKO1JYKkUqqUhozIiDYYg7DIqVI=",
                       "example/prometheus-operator-crd/monitoring.coreos.com_prometheusrules.yaml"),
    "ScaledObject": ("github.com/kedacore/keda/v2", "v2.14.1", "h1:8HShe/6GPo2h1BQ/vkW4k874wHAnkzE7aLbk04rH0u4=",
                     "config/crd/bases/keda.sh_scaledobjects.yaml"),
}
TYPES = {"object": dict, "array": list, "string": str, "integer": int, "number": (int, float), "boolean": bool}


def module_folder(kind, **environment):
    """Where `go` keeps the module; None where it cannot be had."""
    module, version, sum_, _ = MODULES[kind]
    if shutil.which("go") is None:
        return None
    done = subprocess.run(["go", "mod", "download", "-json", f"{module}@{version}"], capture_output=True, text=True,
                          cwd="/", timeout=120, env={**os.environ, **environment})
    if done.returncode != 0:
        return None
    found = json.loads(done.stdout)
    if found["Sum"] != sum_:
        raise ValueError(f"{module}@{version} is not what it was: {found['Sum']}")
    return pathlib.Path(found["Dir"])


def definition(kind):
    """The CustomResourceDefinition; None where no module has been downloaded."""
    folder = module_folder(kind, GOPROXY="off")
    return folder and yaml.safe_load((folder / MODULES[kind][3]).read_text())


def mistakes(one, crd):
    """What the API server would refuse of an object, or drop from it without a word, a line each."""
    group, version = one["apiVersion"].split("/")
    if (crd["spec"]["group"], crd["spec"]["names"]["kind"]) != (group, one["kind"]):
        return [f"{one['apiVersion']} {one['kind']} is not {crd['metadata']['name']}"]
    schemas = [known["schema"]["openAPIV3Schema"] for known in crd["spec"]["versions"]
               if known["name"] == version and known["served"]]
    if not schemas:
        return [f"{version} is not served"]
    return list(_mistakes({**one, "metadata": {}}, schemas[0], one["kind"]))


def _mistakes(value, schema, where):
    if schema.get("x-kubernetes-int-or-string") and isinstance(value, (int, str)):
        return
    wanted = TYPES.get(schema.get("type"), object)
    if not isinstance(value, wanted) or (isinstance(value, bool) and wanted not in (bool, object)):
        yield f"{where}: {value!r} is no {schema['type']}"
    elif "enum" in schema and value not in schema["enum"]:
        yield f"{where}: {value!r} is none of {schema['enum']}"
    elif isinstance(value, str) and not re.search(schema.get("pattern", ""), value):
        yield f"{where}: {value!r} is not like {schema['pattern']}"
    elif isinstance(value, str) and len(value) < schema.get("minLength", 0):
        yield f"{where}: is too short"
    elif isinstance(value, (int, float)) and value < schema.get("minimum", value):
        yield f"{where}: {value} is below {schema['minimum']}"
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _mistakes(item, schema["items"], f"{where}[{index}]")
    elif isinstance(value, dict):
        yield from (f"{where}.{key}: is missing" for key in schema.get("required", []) if key not in value)
        for key, item in value.items():
            inner = schema.get("properties", {}).get(key, schema.get("additionalProperties"))
            if isinstance(inner, dict):
                yield from _mistakes(item, inner, f"{where}.{key}")
            elif inner is None and not schema.get("x-kubernetes-preserve-unknown-fields"):
                if "properties" in schema:  # A plain `type: object` such as metadata takes anything.
                    yield f"{where}.{key}: is not known"


if __name__ == "__main__":
    missing = [kind for kind in MODULES if module_folder(kind) is None]
    sys.exit(f"no definition of {', '.join(missing)}: no Go toolchain, or no way to its modules" if missing else 0)
