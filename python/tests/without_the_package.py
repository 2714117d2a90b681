"""python without_the_package.py OPERATOR|none DATA MODEL|none: the operator in C++ and a model of
AOTInductor, checked and timed. Prints `stage NAME` before each step and `host_us NAME MICROSECONDS`."""

import faulthandler
import sys
import time

import torch


def cost(call, turns=500):
    """Host microseconds of a call: the least of ten batches."""
    best = float("inf")
    for _ in range(10):
        torch.cuda.synchronize()
        start = time.perf_counter_ns()
        for _ in range(turns):
            call()
        best = min(best, (time.perf_counter_ns() - start) / turns)
    return best / 1000


def stage(name):
    print("stage", name, flush=True)


def time_call(name, call):
    stage(f"timing {name}")
    print("host_us", name.replace(" ", "_"), f"{cost(call):.2f}", flush=True)


def main(operator, data, model):
    faulthandler.enable()
    stage("data")
    x, weight, wanted = torch.load(data)
    if operator != "none":
        stage("operator")
        torch.ops.load_library(operator)
        stage("product")
        product = torch.relu(torch.ops.warpsmith.matmul(x, weight.T))
        torch.testing.assert_close(product, wanted, rtol=1e-2, atol=1e-1)
        a, b = x[:64, :64].contiguous(), weight[:64, :64].contiguous()
        time_call("torch.ops.warpsmith.matmul", lambda: torch.ops.warpsmith.matmul(a, b))
        time_call("torch.matmul", lambda: torch.matmul(a, b))
    if model != "none":
        # As a program in C++ does; torch._inductor.aoti_load_package also compiles tests of this CPU.
        stage("loading the model")
        loaded = torch._C._aoti.AOTIModelPackageLoader(model, "model", False, 1, -1)
        stage("the model's first call")
        torch.testing.assert_close(loaded.run([x, weight])[0], wanted, rtol=1e-2, atol=1e-1)
        time_call("model", lambda: loaded.run([x, weight]))
    assert "warpsmith" not in sys.modules
    stage("end")


if __name__ == "__main__":
    with torch.no_grad():
        main(*sys.argv[1:])
