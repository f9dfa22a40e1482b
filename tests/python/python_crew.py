"""A job's real processes, whose workers are a program of Python."""

import os
import subprocess

from crew import Crew
from ending import held
from python_data import PYTHON, ROOT


class PythonCrew(Crew):
    """Its workers are tests/python/program.py or another program beside it, with the crew's environment."""

    def __init__(self, job, example="deepfm", environment=None, program="program.py", **more):
        self.example, self.common, self.program = example, environment or {}, program
        super().__init__(job, **more)

    def host_of(self, name):
        """The address under which others reach the worker."""
        return "127.0.0.1"

    def prefix_of(self, name):
        """The words with which a command begins that runs where the worker is to be."""
        return []

    def add_worker(self, name, **environment):
        self.ports_file(name).unlink(missing_ok=True)
        variables = {"CAPSTAN_CHIEF": self.address, "CAPSTAN_NAME": name, "CAPSTAN_HOST": self.host_of(name),
                     "CAPSTAN_HEALTH_PORT": "0", "CAPSTAN_METRICS_PORT": "0",
                     "CAPSTAN_PORTS_FILE": str(self.ports_file(name)),
                     "OMP_WAIT_POLICY": "passive",  # As `capstan train` sets it.
                     **self.common, **environment}
        with held(), open(self.folder / f"{name}.log", "ab") as log:
            self.processes[name] = subprocess.Popen(
                [*self.prefix_of(name), PYTHON, str(ROOT / "tests/python" / self.program), self.example], stdout=log, stderr=log,
                stdin=subprocess.DEVNULL, env={**os.environ, **variables})

    def end_of(self, name, timeout=30):
        return self.processes[name].wait(timeout)
