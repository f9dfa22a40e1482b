"""The notebooks of python/notebooks: their cells run one after another, as in a new kernel, and come to what they promise."""

import json
import math
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))
from python_data import ROOT, skip_if_lacking

if __name__ == "__main__":
    skip_if_lacking()

sys.path.insert(0, os.environ["PYTHONPATH"])
from crew import BINARIES  # noqa: E402
from held_port import HeldPort  # noqa: E402

NOTEBOOKS = ROOT / "python/notebooks"


def run(path, changes, names):
    """Fills `names` with those that the cells leave behind, with these texts replaced in them."""
    names["__name__"] = "__main__"
    for number, cell in enumerate(json.loads(path.read_text(encoding="utf-8"))["cells"]):
        if cell["cell_type"] == "code":
            source = "".join(cell["source"])
            for old, new in changes.items():
                source = source.replace(old, new)
            exec(compile(source, f"{path.name}, cell {number}", "exec"), names)  # pylint: disable=exec-used


class NotebookTest(unittest.TestCase):

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.addCleanup(os.chdir, os.getcwd())
        os.chdir(scratch.name)
        os.environ["PATH"] = f"{BINARIES.resolve()}:{os.environ['PATH']}"

    def cells_of(self, name):
        """What the cells leave behind. Processes that they have started do not outlive the test; the logs tell why a cell failed."""
        names = {}
        port = HeldPort()
        self.addCleanup(port.close)
        try:
            run(NOTEBOOKS / name, {"PORT = 7000": f"PORT = {port.number}"}, names)
        except BaseException:
            for log in pathlib.Path.cwd().glob("*/*.log"):
                print(f"{log.name}:\n{log.read_text()}", file=sys.stderr)
            raise
        finally:
            for process in names.values():
                if isinstance(process, subprocess.Popen) and process.poll() is None:
                    process.terminate()
                    process.wait()
        return names

    def test_each_notebook_is_tested_and_holds_no_outputs(self):
        tested = set(re.findall(r'cells_of\("([^"]+)"\)', pathlib.Path(__file__).read_text(encoding="utf-8")))
        self.assertEqual({path.name for path in NOTEBOOKS.glob("*.ipynb")}, tested)
        for path in NOTEBOOKS.glob("*.ipynb"):
            for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
                self.assertFalse(cell.get("outputs") or cell.get("execution_count"), path)

    def test_the_first_job_is_looked_at_while_it_trains_and_its_model_predicts(self):
        names = self.cells_of("first_job.ipynb")
        self.assertEqual(names["training"].returncode, 0)
        self.assertIn("<td>likes</td>", names["status"]._repr_html_())
        self.assertGreater(names["status"].examples, 0)
        self.assertEqual(names["rows"].shape, (3, 8))
        self.assertEqual(names["weight"].shape, (16, 16))
        self.assertEqual(names["liked"], [0, 4], "the items of the user's own kind")

    def test_a_model_of_ones_own_trains_on_though_a_worker_is_killed_and_recommends(self):
        names = self.cells_of("own_model.ipynb")
        self.assertEqual(names["training"].returncode, 0)
        self.assertEqual({worker.name for worker in names["both"].workers}, {"helper", "worker-0"})
        self.assertIn(("helper", "lost"), [(worker.name, worker.state) for worker in names["gone"].workers])
        self.assertLess(names["gone"].examples, names["on"].examples)
        self.assertIn("168,000 of 168,000 ", names["stored"])
        losses = [loss for _, loss in names["losses"]]
        self.assertLess(losses[-1], 0.75 * math.log(2), "who knows nothing loses log 2")
        self.assertEqual([film.split()[0] for film in names["best"]], ["Western"] * 5)
        self.assertEqual([film.split()[0] for film in names["others"]], ["Horror"] * 5)


if __name__ == "__main__":
    unittest.main(verbosity=2)
