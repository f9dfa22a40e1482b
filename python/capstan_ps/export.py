"""Writes a model that a PyTorch program computes into a folder, for use without Capstan.

    python3 -m capstan_ps.export out/ctr/checkpoints/976-1 model --program model.py

  model.safetensors, job.json   as `capstan checkpoint export` writes them
  model.onnx                    the program's predict as a graph, which takes the rows of keys as inputs
  model.pt                      for torch.load: the module's state_dict, and for each table the weight of an nn.EmbeddingBag and its keys

CHECKPOINT is the folder of a checkpoint or of a job, or s3://bucket/folder. FOLDER is written to only after all
files have been made. See docs/export.md."""

import json
import os
import pathlib
import subprocess
import tempfile

from capstan_ps import programs
from capstan_ps import user_program as _program
from capstan_ps.model import load

NAME = "capstan_ps.export"
MOST_ROWS = 1_000_000
PARAMETERS = "model.safetensors"
OF_ONE_MODEL = ("model.onnx", "model.pt")  # Files of an earlier export are removed first, as they belong to another model.


def checkpoint_into(checkpoint, folder):
    """Has the command `capstan` export the checkpoint into the folder."""
    command = programs.capstan()
    if not command:
        raise _program.Refused(f"{checkpoint}: to read a checkpoint the command `capstan` is needed; put it into the PATH, or name it by CAPSTAN")
    done = subprocess.run([command, "checkpoint", "export", checkpoint, folder], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise _program.Refused(done.stderr.strip() or f"{checkpoint}: `capstan checkpoint export` has failed")


def saved(model, net, most_rows):
    """Returns the content of model.pt, and a line for each thing that is left out of it."""
    import torch
    state = {name: tensor.clone() for name, tensor in net.state_dict().items()}  # Copies, as all of them are views of one tensor.
    tables, keys, lacks = {}, {}, []
    for name in sorted(set(model.state_dict()) - set(state)):
        lacks.append(f"{name}, which state_dict() leaves out of the module, too (persistent=False); model.safetensors has it")
    for name, table in model.tables.items():
        if len(table.keys) > most_rows:
            lacks.append(f"table {name}: {len(table.keys)} rows, more than --most-rows {most_rows}; model.safetensors has them")
            continue
        # The keys are sorted as torch.searchsorted needs them, as int64: the keys from 2^63 on are negative, and come first.
        of_table, order = torch.from_numpy(table.keys.view("i8").copy()).sort()
        keys[name], tables[name] = of_table, {"weight": torch.from_numpy(table.weights.copy())[order]}
    return {"state_dict": state, "tables": tables, "keys": keys}, lacks


def write(model, program, folder, most_rows, with_graph):
    """Writes model.pt, and with `with_graph` model.onnx. Returns a line for each thing that is left out of model.pt."""
    try:
        import torch
    except ImportError:
        raise _program.Refused("model.onnx and model.pt are written by PyTorch, which this Python does not have (import torch)") from None
    net = program.model_of(model)
    if not isinstance(net, torch.nn.Module):
        raise _program.Refused(f"{program.name} computes with NumPy, and model.onnx and model.pt are of modules of PyTorch; its arrays are written by "
                               "`capstan checkpoint export`")
    net.eval()
    content, lacks = saved(model, net, most_rows)
    torch.save(content, folder / "model.pt")
    if with_graph:
        model.write_onnx(net, folder / "model.onnx", program.predict)
    return lacks


def refuse_others(folder):
    """Refuses a folder with files of the same names that no export has written, as `capstan checkpoint export` does."""
    if folder.exists() and not folder.is_dir():
        raise _program.Refused(f"{folder}: is no folder")
    if _is_export(folder):
        return
    for name in ("job.json", PARAMETERS, *OF_ONE_MODEL):
        if (folder / name).exists():
            raise _program.Refused(f"{folder / name}: is of no exported model, and would be overwritten; expected a folder without such a file, or one "
                                   "with an exported model")


def _is_export(folder):
    try:
        return int(json.loads((folder / "job.json").read_text(encoding="utf-8"))["partition_count"]) > 0
    except (OSError, ValueError, KeyError, TypeError):
        return False


def put(made, folder):
    """Moves the files of `made` into the folder, the parameters last, so that a folder with parameters has a complete model. Returns the
    names of the files."""
    folder.mkdir(exist_ok=True)
    for name in (PARAMETERS, *OF_ONE_MODEL):
        (folder / name).unlink(missing_ok=True)
    names = sorted(path.name for path in made.iterdir())
    for name in sorted(names, key=lambda name: name == PARAMETERS):
        os.replace(made / name, folder / name)
    return names


def run():
    arguments = _program.parser(NAME, __doc__)
    arguments.add_argument("checkpoint", metavar="CHECKPOINT")
    arguments.add_argument("folder", metavar="FOLDER", type=pathlib.Path)
    arguments.add_argument("--most-rows", type=int, default=MOST_ROWS, metavar="N", help="rows of a table that model.pt may have (%(default)s)")
    arguments.add_argument("--no-onnx", action="store_true", help="no model.onnx, as of a module that takes batch.rows and batch.index itself")
    asked = arguments.parse_args()
    program = _program.Program(asked.program)
    folder = asked.folder.absolute()
    refuse_others(folder)
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        # If the folder exists, the scratch folder is inside it: it may be a volume of its own, and files cannot be renamed across volumes.
        scratch = tempfile.TemporaryDirectory(prefix=".capstan-export-", dir=folder if folder.is_dir() else folder.parent)
    except OSError as error:
        raise _program.Refused(f"{asked.folder}: {error.strerror}") from None
    with scratch:
        made = pathlib.Path(scratch.name) / "model"
        checkpoint_into(asked.checkpoint, made)
        lacks = write(load(made), program, made, asked.most_rows, not asked.no_onnx)
        names = put(made, folder)
    print(f"{asked.folder}: {', '.join(names)}")
    for what in lacks:
        print(f"model.pt lacks {what}")


if __name__ == "__main__":
    _program.main(NAME, run)
