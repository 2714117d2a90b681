"""What a driver gives to its launch: work for a process of its own, and a check of its answer."""
import math
import signal

from warpsmith_peer.failures import BAD_INPUT, Failure

from warpsmith_import.module import tensor_of

_BUILD_SECONDS = 240


def precompile(folder):
    """Torch's headers, compiled once for many drivers (about 700 MB)."""
    from warpsmith_driver import build
    build.precompile(folder, _BUILD_SECONDS)
    return {}


def _same(first, second):
    """Sizes and scalars must not depend on the seed: the task holds them once."""
    fields = ("arguments", "tensors", "comparisons")
    return all(first[field] == second[field] for field in fields)


def describe(folder, precompiled):
    """Of driver.cpp in `folder` with its launch.inc; `precompiled`: a folder of precompile()."""
    from warpsmith_driver import build
    from warpsmith_driver.run import run
    sources = {name: (folder / name).read_text() for name in (build.DRIVER, build.LAUNCH)}
    library = build.load(build.build(sources, precompiled, _BUILD_SECONDS))
    told = run(library, 1)
    if not told["error"] and not _same(told, run(library, 2)):
        told["error"] = "its sizes or its numbers change with the seed"
    return told


def told_by(outcome, seconds):
    """The answer of such a process, or a Failure with a reason for a person."""
    if outcome.timed_out:
        raise Failure(BAD_INPUT, f"compiling and running it did not end within {seconds} s")
    if outcome.signal:
        raise Failure(BAD_INPUT, f"its main() ends with {signal.strsignal(outcome.signal)}")
    if not isinstance(outcome.answer, dict):
        raise Failure(BAD_INPUT, f"its process ended without an answer (status {outcome.status}): "
                      f"{outcome.last_line}")
    if outcome.answer.get("error"):
        raise Failure(BAD_INPUT, str(outcome.answer["error"]))
    return outcome.answer


def _argument(row, tensors):
    if "expression" in row:
        if not isinstance(row["expression"], str) or not row["expression"]:
            raise ValueError
        return {"expression": row["expression"]}
    indices, array = row["tensors"], row["array"]
    good = (isinstance(indices, list) and indices and type(array) is bool
            and all(type(index) is int and 0 <= index < tensors for index in indices))
    if not good:
        raise ValueError
    return {"tensors": indices, "array": array}


def _is_output(row):
    if type(row["output"]) is not bool:
        raise ValueError
    return row["output"]


def _loosest(rows, bound):
    numbers = [0.0, *(row[bound] for row in rows)]
    if not all(type(number) in (int, float) and math.isfinite(number) for number in numbers):
        raise ValueError
    return float(max(numbers))


def read(told):
    """{"tensors": each once, in the order in which arguments name them, "arguments": one a
    parameter, "absolute", "relative": the loosest of the driver's comparisons}"""
    try:
        tensors = [{**tensor_of(row), "output": _is_output(row)} for row in told["tensors"]]
        return {"tensors": tensors,
                "arguments": [_argument(row, len(tensors)) for row in told["arguments"]],
                "absolute": _loosest(told["comparisons"], "absolute"),
                "relative": _loosest(told["comparisons"], "relative")}
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise Failure(BAD_INPUT, f"its process gave no answer that can be used: {error}") from None
