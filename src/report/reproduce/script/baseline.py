"""Times the task's PyTorch code, eager and compiled, on tensors of the task's shapes.

Each call takes other inputs than the call before; a call and the wait for its end are timed by the
host's clock. baseline.json says what to call; the code itself lies in reference/. Needs torch.
"""
import importlib.util
import inspect
import json
import os
import statistics
import sys
import time

import torch

HERE = os.path.dirname(os.path.abspath(__file__))
REFERENCE = os.path.join(HERE, "reference")
DTYPES = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32,
          "f64": torch.float64, "i8": torch.int8, "i32": torch.int32, "i64": torch.int64,
          "bool": torch.bool}
CALLS = 200
DEVICE = "cuda"


def load(entry):
    sys.path.insert(0, REFERENCE)
    spec = importlib.util.spec_from_file_location("reference", os.path.join(REFERENCE, entry))
    module = importlib.util.module_from_spec(spec)
    sys.modules["reference"] = module
    spec.loader.exec_module(module)
    return module


def draw(tensor):
    """An input as the task's generators make it."""
    shape, dtype, generator = tensor["shape"], DTYPES[tensor["dtype"]], tensor["generator"]
    if generator == "integers":
        high = max(tensor["low"] + 1, tensor["high"])
        return torch.randint(tensor["low"], high, shape, device=DEVICE).to(dtype)
    if generator == "offsets":
        steps = torch.linspace(0, tensor["high"], shape[0], dtype=torch.float64, device=DEVICE)
        return steps.floor().to(dtype)
    if generator == "uniform":
        return (2 * torch.rand(shape, device=DEVICE) - 1).to(dtype)
    if generator == "unit":
        return torch.rand(shape, device=DEVICE).to(dtype)
    return torch.randn(shape, device=DEVICE).to(dtype)


def sizes_for(function, sizes):
    """The sizes that the function has parameters for."""
    parameters = inspect.signature(function).parameters.values()
    if any(p.kind == p.VAR_KEYWORD for p in parameters):
        return dict(sizes)
    names = {p.name for p in parameters}
    return {name: size for name, size in sizes.items() if name in names}


def function_subject(loaded, told):
    """What is called, and what draws its arguments."""
    named = sizes_for(loaded.reference, told["sizes"])
    if any(tensor["generator"] == "reference" for tensor in told["inputs"]):
        own = sizes_for(loaded.get_inputs, told["sizes"])
        return loaded.reference, named, lambda: loaded.get_inputs(**own)
    return loaded.reference, named, lambda: [draw(tensor) for tensor in told["inputs"]]


def module_subject(loaded, told):
    initial = getattr(loaded, "get_init_inputs", list)()
    model = loaded.Model(**initial) if isinstance(initial, dict) else loaded.Model(*initial)
    model = model.to(DEVICE)
    if told["dtype"]:
        model = model.to(DTYPES[told["dtype"]])
    return model, {}, loaded.get_inputs


def on_device(values, dtype):
    moved = []
    for value in values:
        if isinstance(value, torch.Tensor):
            value = value.to(DEVICE)
            if dtype and value.is_floating_point():
                value = value.to(DTYPES[dtype])
        moved.append(value)
    return moved


def make_sets(draw_inputs, dtype):
    """Enough sets of inputs to exceed the L2 three times, but at least two."""
    sets = [on_device(draw_inputs(), dtype)]
    one = sum(v.numel() * v.element_size() for v in sets[0] if isinstance(v, torch.Tensor))
    if DEVICE == "cuda":
        l2 = torch.cuda.get_device_properties(0).L2_cache_size
        most = torch.cuda.mem_get_info()[0] // 4 // max(one, 1)
    else:
        l2, most = 1 << 20, 4
    count = max(2, min(3 * l2 // max(one, 1) + 2, most, 64))
    while len(sets) < count:
        sets.append(on_device(draw_inputs(), dtype))
    return sets


def wait():
    if DEVICE == "cuda":
        torch.cuda.synchronize()


def time_calls(function, sets):
    for i in range(20):
        function(*sets[i % len(sets)])
    times = []
    for i in range(CALLS):
        inputs = sets[i % len(sets)]
        wait()
        begin = time.perf_counter()
        function(*inputs)
        wait()
        times.append((time.perf_counter() - begin) * 1e6)
    return times


def candidate_us():
    """What build/reproduce has just measured by the same clock, if it has."""
    try:
        with open(os.path.join(HERE, "build", "wall_us.txt"), encoding="utf-8") as file:
            return float(file.read())
    except (OSError, ValueError):
        return None


def main():
    with open(os.path.join(HERE, "baseline.json"), encoding="utf-8") as file:
        told = json.load(file)
    torch.manual_seed(1)
    loaded = load(told["entry"])
    subject = {"function": function_subject, "module": module_subject}[told["style"]]
    with torch.no_grad():
        target, named, draw_inputs = subject(loaded, told)
        sets = make_sets(draw_inputs, told["dtype"])
        print(f"\ntorch {torch.__version__}, {len(sets)} sets of inputs; wall: one call and the "
              "wait for its end")
        for callee in told["callees"]:
            called = torch.compile(target) if callee == "compile" else target
            times = time_calls(lambda *inputs: called(*inputs, **named), sets)
            median = statistics.median(times)
            print(f"  {'torch-' + callee:<28} {median:12.3f} {min(times):12.3f} "
                  f"{max(times):12.3f}   us a call: median, fastest, slowest of {CALLS}")
            own = candidate_us()
            if own:
                print(f"  ratio torch-{callee} / candidate, wall: {median / own:.4f}")


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1] == "--cpu":  # tries the file without a GPU
        DEVICE, CALLS = "cpu", 3
    main()
