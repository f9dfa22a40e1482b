"""ONNX Runtime, an engine that is none of ours: it computes the graphs of model.onnx. tests/run fetches it."""

import pathlib
import subprocess

FOLDER = pathlib.Path(__file__).resolve().parents[2] / "build/onnxruntime"

# Reads the folder `model` and the file of lines or images that is named, and writes a score a line.
PROGRAM = """
import sys
sys.path[:0] = ["model", sys.argv[1]]
import onnxruntime
import score
model, path = score.Model("model"), sys.argv[2]
if path.endswith("ubyte"):
    inputs = {"numbers": score.images_in(model.data, open(path, "rb").read())}
else:
    lines = open(path, encoding="utf-8").read().removesuffix("\\n").split("\\n")
    inputs = model.onnx_inputs(lines[bool(model.data.get("header")):])
session = onnxruntime.InferenceSession("model/model.onnx")
for scores in session.run(None, {of.name: inputs[of.name] for of in session.get_inputs()})[0]:
    print(",".join(f"{score:.6f}" for score in scores))
"""


def lack():
    """Why it is not here; empty: it is."""
    if subprocess.run(["/usr/bin/python3", "-c", "import onnxruntime"], env={"PYTHONPATH": str(FOLDER)}, capture_output=True,
                      check=False).returncode == 0:
        return ""
    return "no ONNX Runtime here (tests/run fetches it from PyPI)"
