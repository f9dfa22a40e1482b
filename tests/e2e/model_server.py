"""`capstan serve` as a process, and how it is asked."""

import json
import os
import pathlib
import re
import subprocess
import threading
import time
import urllib.error
import urllib.request

CAPSTAN = pathlib.Path(os.environ["CAPSTAN_BIN"]) / "capstan"


class Server:
    """A process that serves; ended with the context. `environment`: beside this process's."""

    def __init__(self, model, *more, environment=None):
        self.process = subprocess.Popen([CAPSTAN, "serve", model, "--host", "127.0.0.1", "--port", "0", *more], stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT, text=True, env={**os.environ, **(environment or {})})
        self.lines = []
        line = ""
        while not (found := re.search(r"^(?:serving \S+, version (\S+)|looking for a version of \S+), at (http://\S+)", line)):
            line = self.process.stdout.readline()
            assert line, f"it has ended: {self.lines}"
            self.lines.append(line)
        self.version, self.url = found[1], found[2]
        self.root = self.url.partition("/v2/")[0]
        self.reading = threading.Thread(target=lambda: self.lines.extend(self.process.stdout), daemon=True)
        self.reading.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.reading.join()
        self.process.stdout.close()

    def line_with(self, text):
        """The first line that it writes with this text."""
        until = time.monotonic() + 30
        while not (found := [line for line in self.lines if text in line]):
            assert time.monotonic() < until, f"nothing with {text}: {self.lines}"
            time.sleep(0.05)
        return found[0]

    def get(self, path):
        with urllib.request.urlopen(self.root + path, timeout=10) as answer:
            return answer.read().decode()

    def infer(self, *inputs, **more):
        asked = json.dumps({"inputs": list(inputs), **more}).encode()
        with urllib.request.urlopen(urllib.request.Request(self.url + "/infer", asked), timeout=10) as answer:
            return json.load(answer)

    def refusal(self, path, body=None):
        try:
            urllib.request.urlopen(urllib.request.Request(self.root + path, body), timeout=10)
        except urllib.error.HTTPError as error:
            with error:
                return error.code, json.load(error)["error"]
        raise AssertionError(f"{path} is answered")


def column(name, values, datatype="BYTES"):
    return {"name": name, "datatype": datatype, "shape": [len(values)], "data": values}


def columns_of(answer):
    return {output["name"]: output["data"] for output in answer["outputs"]}
