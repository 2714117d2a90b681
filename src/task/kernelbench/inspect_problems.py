"""What KernelBench problems are made of: inputs, parameters, outputs, as one JSON line a problem.

usage: inspect_problems.py RESULT --jobs N --seconds S --bytes B [--dtype f16] PROBLEM.py...

A problem is a file with `class Model`, `get_inputs()` and `get_init_inputs()`. Each is imported in
a process of its own (forked, so that torch is loaded once), under FakeTensorMode: shapes and types
are computed, no memory is touched, no GPU is needed. The file is code: it may do anything that its
user may do. Its limits (seconds of work, bytes of memory) are for mistakes, not for malice.

A line: {"path", "ok": true, "inputs": [{"name", "dtype", "shape"} | {"name", "value"}],
"parameters": [{"name", "dtype", "shape"}], "outputs": [...], "bytes"} or {"path", "ok": false,
"reason"}. Parameters are the state_dict's entries, in its order. With --dtype floating inputs,
parameters and buffers are cast to that type first.
"""

import argparse
import contextlib
import importlib.util
import json
import os
import pathlib
import re
import resource
import signal
import sys
import time

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


def row_bytes(row):
    sizes = {"f16": 2, "bf16": 2, "f32": 4, "f64": 8, "i8": 1, "i32": 4, "i64": 8, "bool": 1}
    count = sizes[row["dtype"]]
    for extent in row["shape"]:
        count *= extent
    return count


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
            if numbers(drawn) != numbers(input_rows(torch, model, cast(torch, module.get_inputs(), dtype))):
                raise CannotImport("get_inputs() draws a number: a task holds it once")
            rows = {"inputs": drawn,
                    "parameters": [tensor_row(name, value)
                                   for name, value in model.state_dict().items()],
                    "outputs": output_rows(torch, model(*inputs))}
    tensors = [row for group in rows.values() for row in group if "shape" in row]
    return {**rows, "bytes": sum(row_bytes(row) for row in tensors)}


def inspect_one(torch, path, dtype):
    try:
        return {"path": str(path), "ok": True, **describe(torch, path, dtype)}
    except CannotImport as reason:
        return {"path": str(path), "ok": False, "reason": str(reason)}
    except MemoryError:
        return {"path": str(path), "ok": False, "reason": "it needs more memory than the limit"}
    except BaseException as error:  # whatever the problem raises, SystemExit too, is its answer
        text = " ".join(f"{type(error).__name__}: {error}".split())
        return {"path": str(path), "ok": False, "reason": text[:300]}


def child(torch, path, limits, pipe):
    """Never returns: the fork must not run its parent's code."""
    resource.setrlimit(resource.RLIMIT_CPU, (limits.seconds, limits.seconds + 5))
    used = int(pathlib.Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGESIZE")
    resource.setrlimit(resource.RLIMIT_AS, (used + limits.bytes, used + limits.bytes))
    silence = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(silence, descriptor)
    answer = json.dumps(inspect_one(torch, path, limits.dtype)).encode()
    while answer:
        answer = answer[os.write(pipe, answer):]
    os._exit(0)


class Running:
    def __init__(self, torch, path, limits):
        self.path, self.deadline = path, time.monotonic() + limits.seconds
        self.pipe, write_end = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:  # it stays in our group, which whoever started us kills as a whole
            os.close(self.pipe)
            child(torch, path, limits, write_end)
        os.close(write_end)
        os.set_blocking(self.pipe, False)
        self.answer = b""

    def finished(self):
        """The answer, once there is one."""
        try:
            while chunk := os.read(self.pipe, 1 << 16):
                self.answer += chunk
        except BlockingIOError:
            if time.monotonic() < self.deadline:
                return None
            return self.end("it did not end within its time limit")
        return self.end("its process ended without an answer (killed, or out of memory)")

    def end(self, reason):
        try:
            os.kill(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        os.waitpid(self.pid, 0)
        os.close(self.pipe)
        try:
            return json.loads(self.answer)
        except ValueError:
            return {"path": str(self.path), "ok": False, "reason": reason}


def inspect_all(torch, paths, limits, report):
    waiting, running = list(paths), []
    while waiting or running:
        while waiting and len(running) < limits.jobs:
            running.append(Running(torch, waiting.pop(0), limits))
        still = []
        for process in running:
            row = process.finished()
            if row is None:
                still.append(process)
            else:
                report(row)
        running = still
        time.sleep(0.01)


def warm_up(torch):
    """What every child needs is loaded before the forks."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode(), torch.no_grad():
        torch.nn.Conv2d(1, 1, 1)(torch.rand(1, 1, 2, 2))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("result")
    parser.add_argument("problems", nargs="*")
    parser.add_argument("--list", help="a file with one problem's path a line")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--bytes", type=int, default=16 << 30)
    parser.add_argument("--dtype", choices=["f16", "bf16", "f32"])
    limits = parser.parse_args()
    listed = pathlib.Path(limits.list).read_text().splitlines() if limits.list else []
    try:
        import torch
    except ImportError as error:
        sys.exit(f"this Python has no torch: {error}")
    torch.set_num_threads(1)
    names = {short: name for name, short in DTYPES.items()}
    limits.dtype = getattr(torch, names[limits.dtype]) if limits.dtype else None
    warm_up(torch)
    with open(limits.result, "w", encoding="utf-8") as result:
        inspect_all(torch, limits.problems + listed, limits,
                    lambda row: (result.write(json.dumps(row) + "\n"), result.flush()))


if __name__ == "__main__":
    main()
