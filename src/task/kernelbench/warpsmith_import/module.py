"""What a KernelBench problem is made of: inputs, parameters, outputs.

A problem is a file with `class Model`, `get_inputs()` and `get_init_inputs()`. Each is imported in
a process of its own (forked, so that torch is loaded once), under FakeTensorMode: shapes and types
are computed, no memory is touched, no GPU is needed. The file is code: it may do anything that its
user may do. Its limits (seconds of work, bytes of memory) are for mistakes, not for malice.

A problem's answer: {"inputs": [{"name", "dtype", "shape"} | {"name", "value"}], "parameters":
[{"name", "dtype", "shape"}], "outputs": [...]} or {"error": why there is none}. Parameters are the
state_dict's entries, in its order. With a dtype floating inputs, parameters and buffers are cast to
that type first. read() holds an answer to this form: a process that runs foreign code gave it.
"""
import contextlib
import importlib.util
import math
import os
import pathlib
import resource
import sys

from warpsmith_import.children import Work, run_all
from warpsmith_peer.failures import BAD_INPUT, UNAVAILABLE, Failure

DTYPES = {"float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64", "int8": "i8",
          "int32": "i32", "int64": "i64", "bool": "bool"}


class CannotImport(Exception):
    """A reason that a person can read; no traceback is needed."""


def load_problem(path):
    spec = importlib.util.spec_from_file_location("problem", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["problem"] = module
    spec.loader.exec_module(module)
    for name in ("Model", "get_inputs", "get_init_inputs"):
        if not hasattr(module, name):
            raise CannotImport(f"the file defines no {name}")
    return module


def construct(model_class, init_inputs):
    """Some problems give positional arguments, some a dict of named ones."""
    if isinstance(init_inputs, dict):
        return model_class(**init_inputs)
    return model_class(*init_inputs)


def tensor_row(name, tensor):
    dtype = str(tensor.dtype).removeprefix("torch.")
    if dtype not in DTYPES:
        raise CannotImport(f"{name} has type {dtype}, which no task can name")
    shape = [int(extent) for extent in tensor.shape]
    if 0 in shape:
        raise CannotImport(f"{name} is empty: {shape}")
    return {"name": name, "dtype": DTYPES[dtype], "shape": shape}


def input_rows(torch, model, inputs):
    """Named as forward() names them, where it does."""
    import inspect

    parameters = list(inspect.signature(model.forward).parameters.values())
    named = [p.name for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    rows = []
    for index, value in enumerate(inputs):
        name = named[index] if index < len(named) else f"input{index}"
        if isinstance(value, torch.Tensor):
            rows.append(tensor_row(name, value))
        elif value is None or isinstance(value, (bool, int, float)):
            rows.append({"name": name, "value": value})
        else:
            raise CannotImport(f"input {name} is a {type(value).__name__}, not a tensor or a number")
    return rows


def output_rows(torch, outputs):
    if isinstance(outputs, torch.Tensor):
        return [tensor_row("output", outputs)]
    if not isinstance(outputs, (tuple, list)) or not outputs:
        raise CannotImport(f"forward() returns a {type(outputs).__name__}, not tensors")
    flat = []
    for value in outputs:  # an LSTM's (output, (h, c)) has one level of nesting
        flat.extend(value if isinstance(value, (tuple, list)) else [value])
    if not all(isinstance(value, torch.Tensor) for value in flat):
        raise CannotImport("forward() returns something that is not a tensor")
    return [tensor_row(f"output{index}", value) for index, value in enumerate(flat)]


def numbers(rows):
    return [repr(row["value"]) for row in rows if "value" in row]


def describe(torch, path, dtype):
    """What the module is, computed without its contents."""
    from torch._subclasses.fake_tensor import DataDependentOutputException

    try:
        return rows_of(torch, path, dtype, fake_parameters=True)
    except DataDependentOutputException:  # Model() reads what it made: linspace(...)[i].item()
        return rows_of(torch, path, dtype, fake_parameters=False)


def cast(torch, values, dtype):
    if dtype is None:
        return values
    return [value.to(dtype) if isinstance(value, torch.Tensor) and value.is_floating_point()
            else value for value in values]


def cast_module(torch, model, dtype):
    """As model.to(dtype), which cannot swap the contents of fake parameters."""
    if dtype is None:
        return
    for part in model.modules():
        for table in (part._parameters, part._buffers):
            for name, value in table.items():
                if value is None or not value.is_floating_point():
                    continue
                value = value.to(dtype)
                table[name] = torch.nn.Parameter(value) if table is part._parameters else value


def rows_of(torch, path, dtype, fake_parameters):
    from torch._subclasses.fake_tensor import FakeTensorMode

    torch.manual_seed(0)
    fake = FakeTensorMode(allow_non_fake_inputs=True)
    with torch.no_grad():
        with fake if fake_parameters else contextlib.nullcontext():
            module = load_problem(path)
            model = construct(module.Model, module.get_init_inputs())
            cast_module(torch, model, dtype)
        with fake:
            inputs = cast(torch, module.get_inputs(), dtype)
            drawn = input_rows(torch, model, inputs)
            torch.manual_seed(1)
            again = input_rows(torch, model, cast(torch, module.get_inputs(), dtype))
            if numbers(drawn) != numbers(again):
                raise CannotImport("get_inputs() draws a number: a task holds it once")
            return {"inputs": drawn,
                    "parameters": [tensor_row(name, value)
                                   for name, value in model.state_dict().items()],
                    "outputs": output_rows(torch, model(*inputs))}


def _inspect_one(torch, path, dtype, seconds, memory):
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
    used = int(pathlib.Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGESIZE")
    resource.setrlimit(resource.RLIMIT_AS, (used + memory, used + memory))
    try:
        return describe(torch, path, dtype)
    except CannotImport as reason:
        return {"error": str(reason)}
    except MemoryError:
        return {"error": "it needs more memory than the limit"}
    except BaseException as error:  # whatever the problem raises, SystemExit too, is its answer
        return {"error": " ".join(f"{type(error).__name__}: {error}".split())[:300]}


def _inspecting(torch, key, path, dtype, seconds, memory, answers):
    outcome = yield Work(lambda: _inspect_one(torch, path, dtype, seconds, memory), seconds, False)
    answers[key] = outcome.answer
    if outcome.answer is None:
        answers[key] = {"error": "it did not end within its time limit" if outcome.timed_out else
                        "its process ended without an answer (killed, or out of memory)"}


def _inspect_all(paths, dtype, jobs, seconds, memory):
    """In a process of its own, which loads torch and is forked for every problem."""
    try:
        import torch
        from torch._subclasses.fake_tensor import FakeTensorMode
    except ImportError as error:
        return {"error": f"this Python has no torch: {error}"}
    torch.set_num_threads(1)
    with FakeTensorMode(), torch.no_grad():  # what every child needs is loaded before the forks
        torch.nn.Conv2d(1, 1, 1)(torch.rand(1, 1, 2, 2))
    names = {short: name for name, short in DTYPES.items()}
    dtype, answers = getattr(torch, names[dtype]) if dtype else None, {}
    run_all([_inspecting(torch, key, path, dtype, seconds, memory, answers)
             for key, path in paths.items()], jobs)
    return {"answers": answers}


def tensor_of(row):
    name, dtype, shape = row["name"], row["dtype"], row["shape"]
    good = (isinstance(name, str) and dtype in DTYPES.values() and isinstance(shape, list)
            and all(type(extent) is int and 1 <= extent <= 1 << 40 for extent in shape))
    if not good:
        raise ValueError(f"tensor {name} of type {dtype} has shape {shape}"[:300])
    return {"name": name, "dtype": dtype, "shape": shape}


def _input(row):
    if "value" not in row:
        return tensor_of(row)
    name, value = row["name"], row["value"]
    if type(value) not in (bool, int, float) or not math.isfinite(value):
        raise CannotImport(f"input {name} is {value}: expected a number"[:300])
    return {"name": str(name), "value": value}


def read(answer):
    """An answer in the form above, or a Failure with its reason."""
    try:
        if "error" in answer:
            raise CannotImport(str(answer["error"]))
        return {"inputs": [_input(row) for row in answer["inputs"]],
                "parameters": [tensor_of(row) for row in answer["parameters"]],
                "outputs": [tensor_of(row) for row in answer["outputs"]]}
    except CannotImport as reason:
        raise Failure(BAD_INPUT, str(reason)) from None
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise Failure(BAD_INPUT, f"its process gave no answer that can be used: {error}") from None


def _asking(work, python, found):
    outcome = yield work
    answer = outcome.answer or {
        "error": "it took too long" if outcome.timed_out else outcome.last_line or "no message"}
    if "error" in answer:
        raise Failure(UNAVAILABLE, f"inspecting the problems with {python}: {answer['error']}",
                      "set WARPSMITH_PYTHON to a Python from 3.10 that has torch")
    found.update(answer["answers"])


def inspect(problems, python, dtype=None, jobs=1, seconds=60, memory=16 << 30, is_stopped=None):
    """id -> an answer for read(). UNAVAILABLE where there is no torch."""
    paths, found = {problem.id: os.path.abspath(problem.path) for problem in problems}, {}
    limit = 120 + (len(problems) // jobs + 1) * seconds
    work = Work(lambda: _inspect_all(paths, dtype, jobs, seconds, memory), limit, True)
    run_all([_asking(work, python, found)], 1, is_stopped)
    return found
