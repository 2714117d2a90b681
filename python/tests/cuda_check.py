"""python cuda_check.py RESULTS.csv [CHECK...]: the operator on a GPU: right, in graphs, compiled, its cost."""

import csv
import os
import signal
import subprocess
import sys
import tempfile
import traceback
import zipfile

import torch
import warpsmith
from without_the_package import cost


def halves(*shape, dtype=torch.float16):
    return torch.randn(*shape, device="cuda", dtype=dtype)


def error(c, a, b):
    exact = a.double() @ b.double()
    scale = a.double().abs() @ b.double().abs()
    unit = 2.0**-11 if a.dtype == torch.float16 else 2.0**-8
    bound = unit * exact.abs() + a.shape[-1] * 2.0**-23 * scale + 2.0**-24
    return ((c.double() - exact).abs() / bound).max().item()


def products(rows):
    for dtype in (torch.float16, torch.bfloat16):
        for m, n, k in ((64, 64, 64), (512, 512, 512), (1, 4096, 4096), (100, 33, 257)):
            a, b = halves(m, k, dtype=dtype), halves(k, n, dtype=dtype)
            for name, x, y in (
                ("NN", a, b),
                ("TN", a, halves(n, k, dtype=dtype).T),
                ("NT", halves(k, m, dtype=dtype).T, b),
                ("sliced", halves(m, k + 8, dtype=dtype)[:, 8:], b),
            ):
                worst = error(warpsmith.matmul(x, y), x, y)
                rows.append(("product", f"{m}x{n}x{k} {name} {dtype}", worst, worst <= 1))


def in_a_graph(rows):
    a, b = halves(512, 512), halves(512, 512)
    warpsmith.matmul(a, b)
    wanted, out = warpsmith.matmul(a, b), torch.empty(512, 512, device="cuda", dtype=a.dtype)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out.copy_(warpsmith.matmul(a, b))
    out.zero_()
    graph.replay()
    torch.cuda.synchronize()
    rows.append(("graph", "512x512x512", 0, torch.equal(out, wanted)))


def on_a_stream(rows):
    a, b = halves(1024, 1024), halves(1024, 1024)
    wanted = warpsmith.matmul(a, b)
    torch.cuda.synchronize()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        found = [warpsmith.matmul(a, b) for _ in range(50)]
    stream.synchronize()
    rows.append(("stream", "1024^3 x 50", 0, all(torch.equal(c, wanted) for c in found)))


def compiled(rows):
    a, b = halves(256, 128).requires_grad_(), halves(128, 64)
    function = torch.compile(lambda x: torch.relu(warpsmith.matmul(x, b)), fullgraph=True)
    c = function(a)
    c.sum().backward()
    gradient = a.grad.clone()
    a.grad = None
    torch.relu(a @ b).sum().backward()
    close = torch.allclose(gradient, a.grad, rtol=1e-2, atol=1e-1)
    rows.append(("compiled", "256x64x128 with gradient", error(c.detach(), a.detach(), b), close))


def by_inductor(rows):
    """A model whose products torch.compile takes from the library: right, and how fast, in graphs."""
    from warpsmith import inductor

    for m, sizes in ((64, (512, 512, 512)), (512, (1024, 4096, 1024)), (2048, (2048, 8192, 2048))):
        weights = [halves(n, k) / k**0.5 for k, n in zip(sizes, sizes[1:])]
        x = halves(m, sizes[0])

        def model(x, weights=weights):
            for weight in weights:
                x = torch.relu(x @ weight.T)
            return x

        times = {}
        for name, options in (("torch", {}), ("warpsmith", inductor.options())):
            torch._dynamo.reset()
            with torch.no_grad(), torch._inductor.config.patch(force_disable_caches=True):
                compiled = torch.compile(model, options=options, fullgraph=True)
                found = compiled(x)
                graph = torch.cuda.CUDAGraph()
                stream = torch.cuda.Stream()
                with torch.cuda.stream(stream):
                    compiled(x)
                torch.cuda.synchronize()
                with torch.cuda.graph(graph):
                    compiled(x)
                starts = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
                samples = []
                for _ in range(30):
                    starts[0].record()
                    for _ in range(20):
                        graph.replay()
                    starts[1].record()
                    starts[1].synchronize()
                    samples.append(starts[0].elapsed_time(starts[1]) * 1000 / 20)
            times[name] = sorted(samples)[len(samples) // 2]
            close = torch.allclose(found, model(x), rtol=1e-2, atol=1e-2)
            label = f"{m}x{'x'.join(map(str, sizes))} {name}"
            rows.append(("inductor_us", label, times[name], close))
        taken = options["post_grad_custom_pre_pass"]
        rows.append(("inductor_taken", f"{m}: of {taken.replaced + taken.kept}", taken.replaced, True))


def library_file():
    """The shared library that this process has opened."""
    warpsmith.library_version()
    with open("/proc/self/maps") as file:
        return next(line.split()[-1] for line in file if "libwarpsmith_gemm.so" in line)


def without_the_package(rows, name, *arguments):
    """Runs without_the_package.py; its times become rows, and where it stopped."""
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "without_the_package.py")
    path = [one for one in os.environ.get("PYTHONPATH", "").split(":")
            if not os.path.isdir(os.path.join(one, "warpsmith"))]  # fmt: skip
    environment = {**os.environ, "WARPSMITH_GEMM_LIBRARY": library_file(),
                   "PYTHONPATH": ":".join(path), "TORCH_SHOW_CPP_STACKTRACES": "1"}  # fmt: skip
    with tempfile.TemporaryFile("w+") as said:
        child = subprocess.Popen([sys.executable, script, *map(str, arguments)], env=environment,
                                 stdout=said, text=True)  # fmt: skip
        try:
            status = child.wait(timeout=60)
        except subprocess.TimeoutExpired:
            child.send_signal(signal.SIGABRT)  # faulthandler prints where it stands
            status = f"timeout, {child.wait()}"
        said.seek(0)
        lines = [line.split(" ", 1) for line in said.read().splitlines()]
    stages = [words for kind, words in lines if kind == "stage"]
    rows.append(("without the package", f"{name}, to stage: {stages[-1] if stages else 'none'}",
                 status, status == 0))  # fmt: skip
    for what, value in (words.split() for kind, words in lines if kind == "host_us"):
        rows.append(("host_us", f"{name}: {what.replace('_', ' ')}", float(value), True))


def in_cpp(rows):
    """The operator in C++, and models with it and with PyTorch's product, without this package."""
    from warpsmith import inductor, native

    class Model(torch.nn.Module):
        def forward(self, x, weight):
            return torch.relu(x @ weight.T)

    x, weight = halves(512, 512), halves(512, 512)
    with tempfile.TemporaryDirectory() as folder, torch.no_grad():
        data = f"{folder}/data.pt"
        torch.save((x, weight, Model()(x, weight)), data)
        operator = native.build(f"{folder}/operator.so")
        without_the_package(rows, "operator in C++", operator, data, "none")
        exported = torch.export.export(Model(), (x, weight))
        # A compiler that links libstdc++ statically gives the process a second one: the model dies in
        # std::regex as it is loaded, by torch's product too. Named first, the shared one is taken.
        shared = {"aot_inductor.custom_op_libs": [":libstdc++.so.6"]}
        for name, opened, options in (("model by torch", "none", {}),
                                      ("model by warpsmith", operator, inductor.options())):  # fmt: skip
            package = torch._inductor.aoti_compile_and_package(
                exported, package_path=f"{folder}/m{len(options)}.pt2", inductor_configs=options | shared)
            with zipfile.ZipFile(package) as archive:
                files = [archive.read(n) for n in archive.namelist()]
            taken = any(b"warpsmith::matmul" in one for one in files)
            rows.append(("aotinductor", f"{name} calls the operator", int(taken), taken == bool(options)))
            one = any(b"libstdc++.so" in one for one in files)
            rows.append(("aotinductor", f"{name} uses the process's libstdc++", int(one), one))
            without_the_package(rows, name, opened, data, package)


def by_dlpack(rows):
    try:
        from warpsmith import _dlpack
    except ModuleNotFoundError:
        return  # apache-tvm-ffi is not here
    a, b = halves(512, 512), halves(512, 512)
    out = torch.empty_like(a)
    _dlpack.matmul(a, b, out)
    torch.cuda.synchronize()
    rows.append(("dlpack", "512x512x512", error(out, a, b), error(out, a, b) <= 1))


def costs(rows):
    a, b = halves(64, 64), halves(64, 64)
    out = torch.empty(64, 64, device="cuda", dtype=a.dtype)
    for name, call in (
        ("warpsmith.matmul(a, b)", lambda: warpsmith.matmul(a, b)),
        ("warpsmith.matmul(a, b, out=c)", lambda: warpsmith.matmul(a, b, out=out)),
        ("torch.ops.warpsmith.matmul", lambda: torch.ops.warpsmith.matmul(a, b)),
        ("torch.matmul", lambda: torch.matmul(a, b)),
        ("torch.matmul(out=c)", lambda: torch.matmul(a, b, out=out)),
    ):
        with torch.no_grad():
            rows.append(("host_us", f"operator in Python: {name}", cost(call), True))


def too_long(*_):
    raise TimeoutError("the check took more than 300 s")


def main():
    rows = []
    signal.signal(signal.SIGALRM, too_long)
    for check in (products, in_a_graph, on_a_stream, compiled, by_inductor, in_cpp,
                  by_dlpack, costs):  # fmt: skip
        if check.__name__ not in (sys.argv[2:] or [check.__name__]):
            continue
        signal.alarm(300)
        try:
            check(rows)
        except Exception as error:
            traceback.print_exc()
            rows.append((check.__name__, "ended early", repr(error).partition("\n")[0], False))
        signal.alarm(0)
        with open(sys.argv[1], "w", newline="") as file:
            file.write(f"# {torch.cuda.get_device_name()}, torch {torch.__version__}, cuda_check.py\n")
            csv.writer(file).writerows([("check", "what", "value", "right"), *rows])
    wrong = [row for row in rows if not row[3]]
    for row in wrong + [row for row in rows if row[0].startswith(("host_us", "inductor"))]:
        print(*row)
    sys.exit(f"{len(rows)} checks, {len(wrong)} wrong" if wrong else 0)


if __name__ == "__main__":
    main()
