"""The line of a traceback that is told to the user is one that the user has written, whatever lies between it and the mistake."""

import importlib.util
import json
import os
import pathlib
import sys
import tempfile
import traceback
import types
import unittest
from unittest import mock

PACKAGE = pathlib.Path(__file__).resolve().parents[2] / "python/capstan_ps"
# By itself: the package needs its extension module, which no line here does.
spec = importlib.util.spec_from_file_location("user_frames", PACKAGE / "user_frames.py")
user_frames = importlib.util.module_from_spec(spec)
spec.loader.exec_module(user_frames)


def frames_of(*files):
    """As traceback.extract_tb gives them: the outermost first. Line 1 of the first file, 2 of the second ..."""
    return [traceback.FrameSummary(str(file), line, "f", lookup_line=False) for line, file in enumerate(files, 1)]


def place(*files, function=None):
    return user_frames.place_in(frames_of(*files), function)


class UserFramesTest(unittest.TestCase):

    def test_the_innermost_of_the_users_frames_is_told(self):
        self.assertEqual(place("/job/model.py", "/job/layers.py"), "layers.py:2")

    def test_frames_of_the_package_are_not_the_users(self):
        self.assertEqual(place(PACKAGE / "loop.py", "/job/model.py", PACKAGE / "torch_batch.py"), "model.py:2")

    def test_frames_of_the_standard_library_are_not_the_users(self):
        self.assertEqual(place("/job/model.py", json.__file__, os.__file__), "model.py:1")

    def test_frames_of_numpy_and_torch_are_not_the_users_wherever_they_lie(self):
        for name in ("numpy", "torch"):
            with mock.patch.dict(sys.modules, {name: types.SimpleNamespace(__file__=f"/opt/own/{name}/__init__.py")}):
                self.assertEqual(place("/opt/own/model.py", f"/opt/own/{name}/core/of.py"), "model.py:1")

    def test_frames_of_installed_packages_are_not_the_users_wherever_python_is(self):
        for folder in ("/usr/lib/python3/dist-packages", "/opt/u/.local/lib/python3.11/site-packages", "/job/.venv/lib/python3.9/site-packages"):
            self.assertEqual(place("/job/model.py", f"{folder}/lightning/trainer.py"), "model.py:1")

    def test_code_that_no_file_holds_is_not_the_users(self):
        for name in ("<string>", "<frozen importlib._bootstrap>", "<__array_function__ internals>", "<stdin>", "<eval_with_key>.0"):
            self.assertEqual(place("/job/model.py", name), "model.py:1", name)

    def test_a_cell_of_a_notebook_is_the_users(self):
        self.assertEqual(place("<ipython-input-3-4f0c>", json.__file__), "<ipython-input-3-4f0c>:1")
        self.assertEqual(place("/tmp/ipykernel_71/1225.py", json.__file__), "1225.py:1")

    def test_a_program_in_a_project_that_is_its_own_environment_is_the_users(self):
        with mock.patch.object(sys, "prefix", "/job"):
            self.assertEqual(place("/job/model.py"), "model.py:1")

    def test_a_library_is_known_through_a_link_too(self):
        with tempfile.TemporaryDirectory() as folder:
            link = pathlib.Path(folder) / "python"
            link.symlink_to(pathlib.Path(json.__file__).parent)
            self.assertEqual(place("/job/model.py", link / "decoder.py"), "model.py:1")

    def test_where_no_frame_is_the_users_their_function_is_told_or_else_the_innermost_frame(self):
        def step():
            pass

        self.assertEqual(place(PACKAGE / "loop.py", json.__file__, function=step), f"user_frames_test.py:{step.__code__.co_firstlineno}")
        self.assertEqual(place(PACKAGE / "loop.py", json.__file__), "__init__.py:2")
        self.assertEqual(place(), "capstan_ps")

    def test_an_exception_that_a_library_raises_is_told_at_the_line_that_called_it(self):
        program = compile("import json\njson.loads('{')\n", "/job/model.py", "exec")
        frames = []
        try:
            exec(program, {})
        except json.JSONDecodeError as error:
            frames = traceback.extract_tb(error.__traceback__)
        self.assertEqual(pathlib.Path(frames[-1].filename).name, "decoder.py")
        self.assertEqual(user_frames.place_in(frames), "model.py:2")


if __name__ == "__main__":
    unittest.main()
