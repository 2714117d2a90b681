"""A server for the tests beside this file: `warpsmith serve` on the shipped recording.

WARPSMITH names the program. Everything the server writes lies in a folder of its own.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
PROGRAM = Path(os.environ.get("WARPSMITH", CHECKOUT / "build/release/bin/warpsmith"))
SHAPE = "64x64x64"
TASK = f"hgemm:{SHAPE}:TN"

sys.path.insert(0, str(CHECKOUT / "python"))
sys.dont_write_bytecode = True


def environment(folder: str) -> dict:
    """Nothing of the user's settings, and no proxy between the test and the server."""
    names = ("DATA", "CACHE", "STATE", "CONFIG")
    own = {f"XDG_{name}_HOME": f"{folder}/{name.lower()}" for name in names}
    return {"WARPSMITH": str(PROGRAM), "PATH": os.environ["PATH"], "HOME": folder, "NO_COLOR": "1", **own}


@contextlib.contextmanager
def serving(*options: str):
    """Yields the address of a server on the recording; it ends with the block."""
    with tempfile.TemporaryDirectory(prefix="warpsmith-serve-") as folder:
        command = [PROGRAM, "serve", "--device", "recorded", "--listen", "127.0.0.1:0", "--quiet"]
        server = subprocess.Popen([*command, *options], stdout=subprocess.PIPE, text=True, cwd=folder,
                                  env=environment(folder))  # fmt: skip
        try:
            line = server.stdout.readline()
            if "http://" not in line:
                raise RuntimeError(f"{command} said {line!r}; expected its address")
            yield line[line.index("http://") :].strip()
        finally:
            server.terminate()
            server.wait(60)
            server.stdout.close()


def points(shape: str = SHAPE, device: str = "recorded") -> list[dict]:
    """What the recording knows of a shape, fastest first: {"point", "outcome", "ratio"}."""
    with tempfile.TemporaryDirectory() as folder:
        command = [PROGRAM, "hgemm", "show", shape, "--device", device, "--top", "0", "--json"]
        shown = subprocess.run(command, check=True, capture_output=True, env=environment(folder))
    return json.loads(shown.stdout)["points"]


def candidate(point: dict) -> dict:
    """A point of a space, as the server reads it."""
    return {"family": point["family"], "values": point["config"]}


def reply(point: dict) -> str:
    """What a model would write to propose it."""
    return f"This ought to be fast.\n```json\n{json.dumps(candidate(point))}\n```\n"


def arguments_of(recipe: str, **variables: str) -> list[str]:
    """What a recipe of examples/train would start its engine with."""
    with tempfile.TemporaryDirectory() as folder:
        python = Path(folder) / "python"
        python.write_text("#!/bin/sh\nprintf '%s\\n' \"$@\"\n")
        python.chmod(0o755)
        shown = subprocess.run([CHECKOUT / "examples" / "train" / recipe], check=True, text=True,
                               capture_output=True,
                               env={**os.environ, **variables, "PYTHON": str(python)})  # fmt: skip
    return shown.stdout.splitlines()[2:]  # without "-m MODULE"
