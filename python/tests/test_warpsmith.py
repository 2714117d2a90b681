"""The package on the fake driver, whose device memory is the host's: CPU tensors stand for a GPU's.

Needs WARPSMITH_GEMM_LIBRARY; WARPSMITH_CUDA_HOME and WARPSMITH_CUBLASLT name the fakes. Exits with
77, which CTest takes for skipped, where torch is not there.
"""

import os
import subprocess
import sys
import tempfile
import time
import unittest
import unittest.mock
import zipfile
from pathlib import Path

try:
    import torch
except ImportError:
    sys.exit(77)
if not hasattr(torch.library, "register_autograd"):  # torch 2.4
    sys.exit(77)

import warpsmith
from warpsmith import _library, _operator


def halves(*shape, dtype=torch.float16):
    return torch.randint(-2, 3, shape).to(dtype)


class WrongInput(unittest.TestCase):
    """What is refused, in words, wherever the tensors are."""

    def refused(self, kind, words, *arguments, **named):
        with self.assertRaisesRegex(kind, words):
            warpsmith.matmul(*arguments, **named)

    def test_dtypes(self):
        self.refused(TypeError, "a is of torch.float32", torch.ones(2, 2), halves(2, 2))
        self.refused(TypeError, "b is of torch.int32", halves(2, 2), torch.ones(2, 2).int())
        bfloat = halves(2, 2, dtype=torch.bfloat16)
        self.refused(TypeError, "both must be equal", halves(2, 2), bfloat)

    def test_shapes(self):
        self.refused(ValueError, r"a is \(2, 3\) and b \(2, 3\)", halves(2, 3), halves(2, 3))
        self.refused(ValueError, "b 1", halves(2, 3), halves(3))
        self.refused(ValueError, "a has 1 dimensions", halves(3), halves(3, 2))

    def test_devices(self):
        self.refused(ValueError, "are on cpu, expected an NVIDIA GPU", halves(2, 3), halves(3, 2))
        meta = torch.empty(3, 2, dtype=torch.float16, device="meta")
        self.refused(ValueError, "a is on cpu, b on meta", halves(2, 3), meta, out=halves(2, 2))

    def test_shapes_are_known_without_a_device(self):
        a = torch.empty(4, 5, 3, dtype=torch.bfloat16, device="meta")
        b = torch.empty(3, 2, dtype=torch.bfloat16, device="meta")
        c = warpsmith.matmul(a, b)
        self.assertEqual((c.shape, c.dtype, c.device.type), ((4, 5, 2), torch.bfloat16, "meta"))
        self.refused(ValueError, "last extent", b, b)


class OnTheFakeDevice(unittest.TestCase):
    def setUp(self):
        _operator._DEVICE_TYPE = "cpu"
        self.addCleanup(setattr, _operator, "_DEVICE_TYPE", "cuda")

    def assert_product(self, a, b, **named):
        c = warpsmith.matmul(a, b, **named)
        torch.testing.assert_close(c.float(), a.float() @ b.float())
        return c

    def test_every_storage(self):
        for dtype in (torch.float16, torch.bfloat16):
            a, b = halves(5, 7, dtype=dtype), halves(7, 3, dtype=dtype)
            for x in (a, a.T.contiguous().T, halves(5, 9, dtype=dtype)[:, :7], a[:, ::1]):
                for y in (b, b.T.contiguous().T, halves(7, 6, dtype=dtype)[:, 1:4]):
                    self.assert_product(x, y)

    def test_operands_without_a_dense_side_are_copied(self):
        self.assert_product(halves(10, 14)[::2, ::2], halves(7, 3))
        self.assert_product(halves(1, 1).expand(5, 7), halves(7, 3))

    def test_extents_of_one_and_none(self):
        for m, k, n in ((1, 7, 3), (5, 1, 3), (5, 7, 1), (1, 1, 1)):
            self.assert_product(halves(m, k), halves(k, n))
            self.assert_product(halves(k, m).T, halves(n, k).T)
        self.assertEqual(self.assert_product(halves(0, 4), halves(4, 3)).shape, (0, 3))
        self.assertEqual(self.assert_product(halves(2, 0), halves(0, 3)).tolist(), [[0.0] * 3] * 2)

    def test_leading_extents(self):
        self.assert_product(halves(2, 3, 5, 7), halves(7, 4))

    def test_out(self):
        out = torch.empty(5, 3, dtype=torch.float16)
        c = self.assert_product(halves(5, 7), halves(7, 3), out=out)
        self.assertEqual(c.data_ptr(), out.data_ptr())
        turned = torch.empty(3, 5, dtype=torch.float16).T
        self.assert_product(halves(5, 7), halves(7, 3), out=turned)
        with self.assertRaisesRegex(ValueError, "out is"):
            warpsmith.matmul(halves(5, 7), halves(7, 3), out=torch.empty(5, 4))
        a = halves(4, 4)
        with self.assertRaisesRegex(warpsmith.WarpsmithError, "c overlaps a"):
            warpsmith.matmul(a, halves(4, 4), out=a)

    def test_gradients(self):
        a = halves(5, 7).requires_grad_()
        b = halves(7, 3).requires_grad_()
        weight = halves(5, 3)
        (warpsmith.matmul(a, b) * weight).sum().backward()
        torch.testing.assert_close(a.grad.float(), weight.float() @ b.detach().float().T)
        torch.testing.assert_close(b.grad.float(), a.detach().float().T @ weight.float())
        with self.assertRaisesRegex(ValueError, "no gradients"):
            warpsmith.matmul(a, b, out=torch.empty(5, 3, dtype=torch.float16))

    def test_the_operator_keeps_torchs_rules(self):
        operator = torch.ops.warpsmith.matmul.default
        for x, y in ((halves(5, 7), halves(7, 3)), (halves(7, 5).T, halves(3, 7).T)):
            torch.library.opcheck(operator, (x, y))
        torch.library.opcheck(operator, (halves(5, 7).requires_grad_(), halves(7, 3)))

    def test_a_compiler_traces_it(self):
        a, b = halves(5, 7), halves(7, 3)
        compiled = torch.compile(
            lambda x, y: torch.relu(warpsmith.matmul(x, y)), backend="aot_eager", fullgraph=True
        )
        torch.testing.assert_close(compiled(a, b).float(), torch.relu(a.float() @ b.float()))

    def test_inductor_takes_the_librarys_products(self):
        from warpsmith import inductor

        linear, weight = torch.nn.Linear(16, 8).half(), halves(8, 12)
        x = halves(4, 16)

        def model(x):  # addmm and mm
            return torch.relu(linear(x) @ weight)

        for only_kernels, counts in ((False, (2, 0)), (True, (0, 2))):
            torch._dynamo.reset()
            options = inductor.options(only_kernels)
            taken = options["post_grad_custom_pre_pass"]
            uncached = torch._inductor.config.patch(force_disable_caches=True)
            with torch.no_grad(), uncached:
                found = torch.compile(model, options=options, fullgraph=True)(x)
                expected = model(x).float()
            torch.testing.assert_close(found.float(), expected, rtol=2e-3, atol=2e-2)
            # The fake library has no kernels: cuBLASLt's products stay torch's.
            self.assertEqual((taken.replaced, taken.kept), counts)
        self.assertNotEqual(inductor.MatmulPass().uuid(), inductor.MatmulPass(False).uuid())

    def test_the_pass_leaves_what_the_library_cannot_take(self):
        from torch.fx.experimental.proxy_tensor import make_fx
        from warpsmith import inductor

        aten, op = torch.ops.aten, torch.ops.warpsmith.matmul.default
        cases = [
            (lambda a, b: aten.mm.default(a, b), halves(4, 6), halves(6, 8), 1),
            (lambda a, b: aten.mm.default(a, b), halves(4, 6), halves(8, 6).T, 1),
            (lambda a, b: aten.mm.default(a, b), halves(4, 6).float(), halves(6, 8).float(), 0),
            (lambda a, b: aten.mm.default(a, b), halves(8, 12)[::2, ::2], halves(6, 8), 0),
            (lambda a, b: aten.mm.default(a, b), halves(0, 6), halves(6, 8), 0),
            (lambda a, b: aten.addmm.default(b[0], a, b), halves(4, 6), halves(6, 8), 1),
            (lambda a, b: aten.addmm.default(b[0], a, b, beta=2), halves(4, 6), halves(6, 8), 0),
        ]
        for function, a, b, wanted in cases:
            traced = make_fx(function, tracing_mode="fake")(a, b)  # with fake values, as Inductor's
            inductor.MatmulPass(only_kernels=False)(traced.graph)
            traced.recompile()
            found = [node for node in traced.graph.nodes if node.target is op]
            self.assertEqual(len(found), wanted)
            torch.testing.assert_close(traced(a, b), function(a, b), rtol=2e-3, atol=2e-2)

    def test_inductor_measures_both(self):
        from warpsmith import inductor

        try:
            inductor.autotune()
        except warpsmith.WarpsmithError as error:
            self.skipTest(str(error))
        torch._dynamo.reset()
        a, b = halves(64, 32), halves(32, 16)
        compiled = torch.compile(lambda a, b: warpsmith.matmul(a, b) + 1, fullgraph=True,
                                 options={"max_autotune": True})  # fmt: skip
        torch.testing.assert_close(compiled(a, b).float(), a.float() @ b.float() + 1)
        w = halves(24, 16)  # an operand that is computed before, and one that is a view
        compiled = torch.compile(lambda a, b: warpsmith.matmul(warpsmith.matmul(a + 1, b) * 2, w.T),
                                 options={"max_autotune": True})  # fmt: skip
        expected = (((a + 1).float() @ b.float()).half() * 2).float() @ w.T.float()
        torch.testing.assert_close(compiled(a, b).float(), expected, rtol=2e-3, atol=2e-1)

    def test_explains(self):
        self.assertRegex(warpsmith.explain(halves(5, 7), halves(7, 3)), "5 x 3 x 7.*cuBLASLt")
        self.assertRegex(warpsmith.library_version(), r"^\d+\.\d+")

    def test_what_a_call_costs(self):
        a, b, out = halves(1, 8), halves(8, 8), torch.empty(1, 8, dtype=torch.float16)

        def nanoseconds(call, turns=2000):
            best = float("inf")
            for _ in range(5):
                start = time.thread_time_ns()
                for _ in range(turns):
                    call()
                best = min(best, (time.thread_time_ns() - start) / turns)
            return best

        costs = {
            "matmul(a, b, out=c)": nanoseconds(lambda: warpsmith.matmul(a, b, out=out)),
            "matmul(a, b)": nanoseconds(lambda: warpsmith.matmul(a, b)),
            "torch.ops.warpsmith.matmul": nanoseconds(lambda: torch.ops.warpsmith.matmul(a, b)),
            "torch.matmul of the same": nanoseconds(lambda: torch.matmul(a, b)),
        }
        for name, cost in costs.items():
            print(f"{name}: {cost / 1000:.2f} us", file=sys.stderr)
        self.assertLess(costs["matmul(a, b)"], 200_000)  # a broken cache would cost more


WITHOUT_THE_PACKAGE = """
import sys, torch
torch.ops.load_library(sys.argv[1])
matmul = torch.ops.warpsmith.matmul

def halves(*shape, dtype=torch.float16):
    return torch.randint(-2, 3, shape).to(dtype)

for dtype in (torch.float16, torch.bfloat16):
    a, b = halves(5, 7, dtype=dtype), halves(7, 3, dtype=dtype)
    for x in (a, a.T.contiguous().T, halves(5, 9, dtype=dtype)[:, :7], halves(10, 14, dtype=dtype)[::2, ::2]):
        for y in (b, b.T.contiguous().T, halves(7, 6, dtype=dtype)[:, 1:4], halves(1, 1, dtype=dtype).expand(7, 3)):
            torch.testing.assert_close(matmul(x, y).float(), x.float() @ y.float())
for m, k, n in ((1, 7, 3), (5, 1, 3), (5, 7, 1), (1, 1, 1), (0, 4, 3), (2, 0, 3)):
    x, y = halves(m, k), halves(n, k).T
    torch.testing.assert_close(matmul(x, y).float(), x.float() @ y.float())

def refused(words, *operands):
    try:
        matmul(*operands)
    except RuntimeError as error:
        assert words in str(error), error
    else:
        sys.exit(words + ": was not refused")

refused("expected a and b of two dimensions, found 2 and 1", a, a[0])
refused("a is 5 x 7 and b 5 x 7", a, a)
refused("of two types", a, b.half())
refused("expected operands of torch.float16", a.float(), b.float())

model = torch._inductor.aoti_load_package(sys.argv[2])
x, weight = torch.load(sys.argv[3])
torch.testing.assert_close(model(x).float(), torch.relu(x.float() @ weight.float().T), rtol=2e-3, atol=2e-2)
assert "warpsmith" not in sys.modules
"""


class Native(unittest.TestCase):
    """The operator in C++, where the package is not."""

    def setUp(self):
        _operator._DEVICE_TYPE = "cpu"
        self.addCleanup(setattr, _operator, "_DEVICE_TYPE", "cuda")

    def test_multiplies_and_runs_models_of_aotinductor(self):
        from warpsmith import inductor, native

        if [int(n) for n in torch.__version__.split(".")[:2]] < [2, 10]:
            self.skipTest("its stable ABI came with torch 2.10")

        class Model(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.weight = torch.nn.Parameter(halves(8, 16), requires_grad=False)

            def forward(self, x):
                return torch.relu(x @ self.weight.T)

        x, model = halves(4, 16), Model()
        with tempfile.TemporaryDirectory() as folder:
            operator = native.build(Path(folder) / "operator.so", device="CPU")
            package, data = Path(folder) / "model.pt2", Path(folder) / "data.pt"
            with torch.no_grad():
                torch._inductor.aoti_compile_and_package(
                    torch.export.export(model, (x,)), package_path=str(package),
                    inductor_configs=inductor.options(only_kernels=False))  # fmt: skip
            with zipfile.ZipFile(package) as archive:  # the pass took the product
                self.assertTrue(any(b"warpsmith::matmul" in archive.read(n) for n in archive.namelist()))
            torch.save((x, model.weight.data), data)
            done = subprocess.run(
                [sys.executable, "-c", WITHOUT_THE_PACKAGE, operator, package, data],
                capture_output=True, text=True, env={**os.environ, "PYTHONPATH": ""})  # fmt: skip
            self.assertEqual(done.returncode, 0, done.stderr)

    def test_what_does_not_compile_leaves_no_file(self):
        from warpsmith import native

        with tempfile.TemporaryDirectory() as folder, unittest.mock.patch.dict(os.environ, CXX="false"):
            with self.assertRaisesRegex(warpsmith.WarpsmithError, "does not compile with this torch"):
                native.build(Path(folder) / "operator.so")
            self.assertEqual(os.listdir(folder), [])


class WithoutTheLibrary(unittest.TestCase):
    def test_says_what_to_install(self):
        _library.api.cache_clear()
        self.addCleanup(_library.api.cache_clear)
        before = os.environ["WARPSMITH_GEMM_LIBRARY"]
        self.addCleanup(os.environ.__setitem__, "WARPSMITH_GEMM_LIBRARY", before)
        os.environ["WARPSMITH_GEMM_LIBRARY"] = "/nowhere/lib.so"
        with self.assertRaisesRegex(warpsmith.WarpsmithError, "install the wheel"):
            warpsmith.library_version()


if __name__ == "__main__":
    unittest.main()
