# Starts a Python program that is carried inside warpsmith; torch_process.cc puts a line
# `FILES = {path: text, ...}` before this text and the line to run behind it.
import sys

sys.path[:] = [folder for folder in sys.path if folder]  # never the folder we happen to run in


def _install():
    finder = {"__name__": "warpsmith_bootstrap"}
    exec(compile(FILES["warpsmith_peer/sources.py"], "warpsmith_peer/sources.py", "exec"), finder)
    sys.meta_path.insert(0, finder["MemoryFiles"](FILES))


_install()
