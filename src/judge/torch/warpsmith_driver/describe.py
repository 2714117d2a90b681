"""What a driver gives to its launch, for the import: python3 ... RESULT precompile FOLDER, or
python3 ... RESULT describe DRIVER.cpp LAUNCH.inc [PRECOMPILED], or python3 ... RESULT pair
DRIVER.cpp LAUNCH.inc MODULE.py REQUEST.json (pair.py). The result is a JSON file."""
import json
import os
import pathlib
import sys

_BUILD_SECONDS = 240


def _precompile(folder):
    from warpsmith_driver import build
    build.precompile(folder, _BUILD_SECONDS)
    return {}


def _same(first, second):
    """Sizes and scalars must not depend on the seed: the task holds them once."""
    fields = ("arguments", "tensors", "comparisons")
    return all(first[field] == second[field] for field in fields)


def _describe(driver, launch, precompiled=None):
    from warpsmith_driver import build
    from warpsmith_driver.run import run
    sources = {build.DRIVER: pathlib.Path(driver).read_text(),
               build.LAUNCH: pathlib.Path(launch).read_text()}
    library = build.load(build.build(sources, precompiled, _BUILD_SECONDS))
    told = run(library, 1)
    if not told["error"] and not _same(told, run(library, 2)):
        told["error"] = "its sizes or its numbers change with the seed"
    return told


def _pair(driver, launch, module, request):
    from warpsmith_driver.pair import choose
    return choose(driver, launch, module, request)


def main(arguments):
    result, command, *rest = arguments
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # printf goes past std::cout
    try:
        commands = {"precompile": _precompile, "describe": _describe, "pair": _pair}
        answer = commands[command](*rest)
    except Exception as problem:
        answer = {"error": " ".join(str(problem).split()) or type(problem).__name__}
    pathlib.Path(result).write_text(json.dumps(answer))
    sys.stdout.flush()
    os._exit(0)  # whatever the driver left behind is not run
