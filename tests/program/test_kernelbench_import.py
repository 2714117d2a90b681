"""`warpsmith task import`: the Python that reads foreign problems, and whole imports.

Arguments: the program, the checkout, then unittest's. Whole imports of problems and drivers run on
the CPU; they are skipped where the Python (WARPSMITH_PYTHON, python3) has no torch.
"""

import json
import os
import random
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM, CHECKOUT = sys.argv[1], Path(sys.argv[2])
sys.path[:0] = [str(CHECKOUT / "src/judge/torch"), str(CHECKOUT / "src/task/kernelbench")]

from warpsmith_import import binding, checkout, children, document, driver, launch, module  # noqa
from warpsmith_peer.failures import Failure  # noqa: E402

NAME = launch.LAUNCH
NAMES = {"name": "set/level1/1_p", "origin": "somewhere"}
PYTHON = os.environ.get("WARPSMITH_PYTHON") or "python3"
HAS_TORCH = subprocess.run([PYTHON, "-c", "import torch"], capture_output=True).returncode == 0


class Folder(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = Path(holder.name)

    def write(self, path, text=""):
        path = self.folder / path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def fails(self, words, call, *arguments):
        with self.assertRaises(Failure) as caught:
            call(*arguments)
        self.assertIn(words, caught.exception.message)
        return caught.exception


class Checkouts(Folder):
    def ids(self):
        return [problem.id for problem in checkout.open_checkout(self.folder).problems]

    def test_modules_by_level_and_number(self):
        for name in ("level1/10_Last_", "level1/9_First", "level2/1_Other"):
            self.write(f"KernelBench/{name}.py", "def get_inputs(): pass")
        self.write("KernelBench/level1/11_Odd.py", "to be refused in words, not passed over")
        self.write("KernelBench/level1/notes.txt", "get_inputs")
        self.write("KernelBench/levels/1_Not.py", "get_inputs")
        self.assertEqual(self.ids(), ["level1/9_First", "level1/10_Last", "level1/11_Odd",
                                      "level2/1_Other"])  # fmt: skip
        self.assertEqual(checkout.open_checkout(self.folder).kind, checkout.MODULES)

    def test_drivers(self):
        for name in ("019_ReLU/driver.cpp", "020_Empty/readme", "021_File", "022_Script.py"):
            self.write("data/kernelbench-cuda/level1/" + name)
        self.assertEqual(self.ids(), ["level1/019_ReLU", "level1/020_Empty"])
        self.assertEqual(checkout.open_checkout(self.folder).kind, checkout.DRIVERS)

    def test_says_what_it_looked_for(self):
        self.write("level1/1_Odd.py", "no inputs")
        self.write("level1/002_Odd/init.cu")
        self.fails("no task set that is known", self.ids)
        absent = self.fails("no such folder", checkout.open_checkout, self.folder / "absent")
        self.assertEqual(absent.code, checkout.NO_INPUT)

    def test_picking(self):
        problem = checkout.Problem(1, 19, "019_ReLU", Path())
        for pattern in ("level1", "level1/19", "level1/019", "level1/019_ReLU", "level1/19_ReLU"):
            self.assertTrue(problem.is_picked_by(pattern), pattern)
        for pattern in ("", "level", "level2", "level1/1", "level1/190", "level11", "19",
                        "level1/", "level1/019_", "level1/-19", "level1/19_GELU"):  # fmt: skip
            self.assertFalse(problem.is_picked_by(pattern), pattern)

    def test_no_regular_file_is_refused(self):
        os.mkfifo(self.folder / "pipe")
        self.fails("no regular file", checkout.read_regular, self.folder / "pipe")
        self.fails("it is a folder", checkout.read_regular, self.folder)
        self.fails("more than", checkout.read_regular, self.write("large", "x" * (4 << 20) + "x"))

    TEXT = """import torch
from torch import nn as layers

class Model(layers.Module):
    scale = 3
    def forward(self, x, width=4):
        return x

batch, width = 16, 32  # of images
shape = (
    8,

    4,
)
@torch.no_grad()
def other(n=5):
    return n

def get_inputs():
    x = torch.rand(batch, 7)
    return [x]

def get_init_inputs():
    return []
"""

    def test_size_text(self):
        self.assertEqual(checkout.size_text(self.TEXT),
                         "batch,width=16,32\nshape=(\n8,\n4,\n)\ndefget_inputs():\n"
                         "x=torch.rand(batch,7)\nreturn[x]\ndefget_init_inputs():\n"
                         "return[]\n")  # fmt: skip
        self.assertEqual(checkout.size_text("a, b=16, 32\n"),
                         checkout.size_text("a, b = 16, 32 # now\n\n"))  # fmt: skip
        self.assertEqual(checkout.size_text(""), "")

    def tag(self, early, late):
        problems = [checkout.Problem(level, 1, "1_p", self.write(f"{level}.py", text))
                    for level, text in ((1, early), (3, late))]  # fmt: skip
        return checkout.size_tag(checkout.Checkout(checkout.MODULES, problems))

    def test_size_tag_is_of_the_early_levels(self):
        tag = self.tag("n = 2\n", "n = 3\n")
        self.assertEqual(len(tag), 8)
        self.assertEqual(tag, self.tag("class Model: pass\nn = 2\n", "n = 4\n"))
        self.assertNotEqual(tag, self.tag("n = 1\n", "n = 3\n"))
        absent = checkout.Problem(1, 1, "1_p", self.folder / "absent.py")
        self.fails("reading", checkout.size_tag, checkout.Checkout(checkout.MODULES, [absent]))


def found(text):
    return launch.find_declaration(text + "\nint main() { return 0; }\n")


class Declarations(Folder):
    def test_types_and_names_through_comments_and_lines(self):
        declaration = found("""
#include <torch/torch.h>  // void launch_gpu_implementation(int wrong);
/* void launch_gpu_implementation(int wrong); */
void launch_gpu_implementation(
    void* output,              // [N, N], f16
    const void *input , /* a, b) */ int64_t N,
    const std::vector<int64_t>& sizes,
    unsigned long long count, float eps = 1e-5f, bool flag = f(1, 2));
""")
        self.assertEqual((declaration.returns, declaration.c_linkage), ("void", False))
        self.assertEqual(declaration.parameters,
                         (("void*", "output"), ("const void*", "input"), ("int64_t", "N"),
                          ("const std::vector<int64_t>&", "sizes"), ("unsigned long long", "count"),
                          ("float", "eps"), ("bool", "flag")))  # fmt: skip

    def test_names_what_has_no_name(self):
        self.assertEqual(
            found(f"void {NAME}(void*, const float *, int, unsigned int, at::Half*, const half, "
                  "std::vector<int>);").text(),
            f"void {NAME}(void* argument0, const float* argument1, int argument2, unsigned int "
            "argument3, at::Half* argument4, const half argument5, std::vector<int> argument6)",
        )  # fmt: skip

    def test_linkage(self):
        for text, wanted in ((f'extern "C" void {NAME}(void* x);', f'extern "C" void {NAME}(void* x)'),
                             (f'extern "C" {{\nint {NAME}(void* x);\n}}', f'extern "C" int {NAME}(void* x)'),
                             (f"extern void {NAME}(void* x);", f"void {NAME}(void* x)")):  # fmt: skip
            self.assertEqual(found(text).text(), wanted)

    def test_literals_and_calls_fool_nobody(self):
        self.assertEqual(
            found(f'const char* a = "void {NAME}(int x);";\n'
                  f'const char* b = R"x(void {NAME}(int y);)")x";\n'
                  f"char c = '\"';\n#define D void {NAME}( \\\n int z);\n"
                  f"void {NAME}(void* right);").text(),
            f"void {NAME}(void* right)",
        )  # fmt: skip
        self.fails("is not declared", launch.find_declaration, f"int main() {{ {NAME}(a, b); }}")
        self.fails("is not declared", launch.find_declaration, f"int main() {{ return {NAME}(a); }}")

    def test_refuses_what_cannot_be_repeated(self):
        for text, words in (
            ("", "is not declared"), ("void {}();", "takes no parameters"),
            ("void {}(void* x) {{ }}", "is defined"),
            ("void {}(void (*f)(int), int n);", "has the parameter"),
            ("void {}(void* x '\n, int n);", "has the parameter"),
            ("void {}(std::vector<int = 3> x, int n);", "has the parameter"),
            ("void {}(float x[3]);", "has the parameter"),
            ("void {}(void* x, int x);", "named x"), ("void {}(void* x", "never closes"),
            ("template <int N> void {}(void* x);", "not understood"),
        ):  # fmt: skip
            self.fails(words, launch.find_declaration, text.format(NAME))

    def test_definition_that_captures(self):
        self.assertEqual(found(f"int {NAME}(void* out, int n);").capturing_definition(),
                         f"int {NAME}(void* out, int n) {{\n  warpsmith::capture::Call call;\n"
                         '  call.Argument("out", out);\n  call.Argument("n", n);\n'
                         "  return {};\n}\n")  # fmt: skip

    def test_what_is_written_is_read_in_any_spacing(self):
        dice = random.Random(4711)
        types = ("void*", "const void*", "int64_t", "int", "bool", "void**", "unsigned int",
                 "const std::vector<int64_t>&", "std::map<int, std::vector<int>>")  # fmt: skip
        blanks = (" ", "\n", "\t", " /* , ) { */ ", " // void f(;\n", "\n#pragma once\n")

        def blank():
            return dice.choice(blanks)

        for _ in range(300):
            kinds = dice.choices(types, k=dice.randint(1, 8))
            default = dice.choice(("", ' = g({1, 2}, ",")'))
            text = ('extern "C" void' if (linkage := dice.random() < 0.5) else "void") + blank()
            text += NAME + blank() + "(" + ",".join(
                f"{blank()}{kind}{blank()}p{i}{default}{blank()}" for i, kind in enumerate(kinds))
            one = found(text + ");")
            self.assertEqual(one.c_linkage, linkage)
            self.assertEqual([name for _, name in one.parameters],
                             [f"p{i}" for i in range(len(kinds))])  # fmt: skip
            self.assertEqual(launch.find_declaration(one.text() + ";"), one)

    def test_any_text_has_an_answer(self):
        """Pieces of C++ in any order find what plain noise would not."""
        dice = random.Random(815)
        pieces = [NAME, *'(){}[]<>,;*"\'\\\n#=x7\xff\0', "void", "/*", "*/", "//", 'R"(', ')"',
                  "extern", '"C"', "::", "const"]  # fmt: skip
        for _ in range(int(os.environ.get("WARPSMITH_FUZZ_ROUNDS", "1500"))):
            text = "".join(dice.choice(pieces) + dice.choice(("", "", " "))
                           for _ in range(dice.randint(0, 40)))  # fmt: skip
            definitions = launch.find_definitions(text)
            for one in definitions:
                self.assertEqual(launch.match(one, definitions)[1], "")
            try:
                one = launch.find_declaration(text)
            except Failure as failure:
                self.assertTrue(failure.message)
                continue
            self.assertTrue(one.parameters)
            self.assertNotIn("\n", one.text())
            self.assertNotIn('"', one.capturing_definition().partition("{")[0].removeprefix('extern "C"'))
            launch.match(one, definitions)

    def test_plain_types(self):
        for a, b in (("long", "int64_t"), ("std::int64_t", "const int64_t"),
                     ("unsigned long", "size_t"), ("const void*", "void const *"),
                     ("void* const", "void*"), ("__half*", "half *"),
                     ("const std::vector<int64_t>&", "const vector<long>&")):  # fmt: skip
            self.assertEqual(launch.plain_type(a), launch.plain_type(b))
        for a, b in (("int", "int64_t"), ("const void*", "void*"), ("long long", "long"),
                     ("half*", "void*"), ("int*", "int"), ("unsigned", "int"), ("bool", "int")):  # fmt: skip
            self.assertNotEqual(launch.plain_type(a), launch.plain_type(b))

    DECLARED = f"void {NAME}(void* out, const void* x, long n);\n"
    DEFINED = f"void {NAME}(void* o, const void* x, long n) {{}}"

    def matched(self, declared, candidate):
        return launch.match(launch.find_declaration(declared), launch.find_definitions(candidate))

    def test_a_definition_that_links(self):
        for candidate in (
            "", "#include <x>\n", f"void {NAME}(void* o, const void*, int64_t m) {{}}",
            f"static void {NAME}(int) {{}}",
            f"void {NAME}(int n) {{}}\nvoid {NAME}(void* a, void const* b, const long c) {{ f(); }}",
        ):  # fmt: skip
            declaration, note = self.matched(self.DECLARED, candidate)
            self.assertEqual((declaration.c_linkage, note), (False, ""), candidate)

    def test_what_differs(self):
        for declared, candidate, words in (
            (self.DECLARED, f"void {NAME}(void* o, void* x, long n) {{}}",
             "(x is void*, not const void*): it cannot load"),
            (self.DECLARED, f"void {NAME}(void* o, const void* x) {{}}", "(2, not 3)"),
            ('extern "C" ' + self.DECLARED,
             f'extern "C" void {NAME}(void* o, const void* x, int n) {{}}',
             "(n is int, not long), and C linkage hides it"),
        ):  # fmt: skip
            self.assertIn(words, self.matched(declared, candidate)[1])

    def test_linkage_of_the_definition(self):
        declaration, note = self.matched(self.DECLARED, f'extern "C" // it links\n{self.DEFINED}')
        self.assertTrue(declaration.c_linkage)
        self.assertEqual(declaration.parameters[0][1], "out")
        self.assertIn("has C linkage", note)
        declaration, note = self.matched('extern "C" ' + self.DECLARED, self.DEFINED)
        self.assertFalse(declaration.c_linkage)
        self.assertIn("has C++ linkage", note)
        both = f'extern "C" {{\n{self.DEFINED}}}\n{self.DEFINED}'
        self.assertEqual(self.matched(self.DECLARED, both)[1], "")
        other = f'extern "C" {{\n{self.DEFINED}void {NAME}(int n) {{}}\n}}'
        self.assertEqual(self.matched('extern "C" ' + self.DECLARED, other)[1], "")

    def test_headers_that_torch_brought_elsewhere(self):
        vector = "#include <math.h>\nvoid f(const std::vector<int>& x);\n"
        error = 'void f() { fprintf(stderr, "x"); }\n'
        self.assertEqual(launch.init_source(vector + error),
                         "#include <vector>\n#include <cstdio>\n" + vector + error)  # fmt: skip
        for text in ("", '__global__ void f() { printf("x"); }\n', "#include <vector>\nstd::vector<int> x;\n",
                     '#include <stdio.h>\nvoid f() { fputs("x", stderr); }\n',
                     '#include <iostream>\nvoid f() { fputs("x", stderr); }\n'):  # fmt: skip
            self.assertEqual(launch.init_source(text), text)


def row(name, shape, dtype="f32", **more):
    return {"name": name, "dtype": dtype, "shape": shape, **more}


def small_module():
    return {"inputs": [row("x", [4, 5]), {"name": "s", "value": 2.5}],
            "parameters": [row("x", [5]), row("net.0.bias", [5])], "outputs": [row("output", [])]}  # fmt: skip


def small_driver():
    return {"tensors": [row("out", [8], "f16", output=True), row("x", [8], "f16", output=False)],
            "arguments": [{"tensors": [0], "array": False}, {"tensors": [1], "array": False},
                          {"tensors": [1, 0], "array": True}, {"expression": "8"}],
            "comparisons": [{"absolute": 0.1, "relative": 0.2}]}  # fmt: skip


SMALL_LAUNCH = launch.Declaration(
    False, "void", (("void*", "out"), ("void*", "x"), ("void**", "list"), ("int", "n"))
)


class Documents(Folder):
    def test_identifiers(self):
        for name, wanted in (("conv.weight", "conv_weight"), ("0", "param_0"), ("", "param_"),
                             ("register", "param_register"), ("\xe9", "__")):  # fmt: skip
            self.assertEqual(document.identifier(name), wanted)

    def test_numbers_as_the_program_writes_them(self):
        for number, text in ((True, "true"), (-7, "-7"), (0.5, "0.5"), (1e-5, "1e-05"),
                             (1e14, "100000000000000.0"), (1e15, "1e+15"), (-1.5e15, "-1.5e+15"),
                             (2e16, "2e+16")):  # fmt: skip
            self.assertEqual(document.number_text(number), text)

    def test_module_call(self):
        task = document.module_task(NAMES, small_module(), "model.py")
        self.assertEqual(task["program"]["declaration"],
                         f'extern "C" void {NAME}(void* output, const void* x, double s, '
                         "const void* param_x, const void* net_0_bias)")  # fmt: skip
        self.assertEqual(task["program"]["arguments"],
                         ["output", "x", "2.5", "param_x", "net_0_bias"])  # fmt: skip
        self.assertEqual(task["tolerance"]["absolute"], 1e-4)
        self.assertEqual(task["tensors"][0]["shape"], [1])  # a single value
        self.assertNotIn("generator", task["tensors"][0])
        self.assertEqual(task["tensors"][1]["generator"], "reference")

    def test_whole_numbers_are_equal(self):
        indices = {**small_module(), "outputs": [row("output", [4], "i64")]}
        tolerance = document.module_task(NAMES, indices, "model.py")["tolerance"]
        self.assertLess(tolerance["absolute"], 1)
        self.assertEqual(tolerance["relative"], 0)
        self.assertIn("must be equal", tolerance["reason"])
        indices["outputs"].append(row("output1", [4]))
        mixed = document.module_task(NAMES, indices, "model.py")["tolerance"]
        self.assertEqual(mixed["relative"], 1e-4)

    def test_more_tensors_than_the_judge_takes(self):
        deep = small_module()
        deep["parameters"] += [row(f"p{i}", [1]) for i in range(document.MOST_TENSORS - 2)]
        self.fails("122 tensors", document.module_task, NAMES, deep, "model.py")
        empty = {"inputs": [], "parameters": [], "outputs": [row("output", [])]}
        self.fails("no input tensor", document.module_task, NAMES, empty, "model.py")

    def test_driver_arguments(self):
        task = document.driver_task(NAMES, driver.read(small_driver()), SMALL_LAUNCH)
        self.assertEqual(task["program"]["arguments"],
                         ["out", "x", "std::vector<void*>{tensors[1], tensors[0]}.data()", "8"])  # fmt: skip
        self.assertEqual(task["tolerance"]["relative"], 0.2)
        self.assertIn("rtol=0.2, atol=0.1", task["tolerance"]["reason"])
        self.assertNotIn("baselines", task)
        fewer = small_driver()
        fewer["arguments"].pop()
        self.fails("3 arguments", document.driver_task, NAMES, driver.read(fewer), SMALL_LAUNCH)

    def test_answers_of_another_form(self):
        self.fails("no einops", module.read, {"error": "no einops"})
        for bad in (None, {}, [], "x", {"inputs": 1}, {"inputs": [row("x", [], "f8")]},
                    {"inputs": [{"name": "x", "value": None}]}, {"inputs": [row("x", [True])]},
                    {"inputs": [{"name": "x", "value": float("nan")}]}):  # fmt: skip
            self.fails("", module.read, bad)
        for change in ({"tensors": [row("x", [0], output=False)]}, {"tensors": None},
                       {"arguments": [{"tensors": [2], "array": False}]},
                       {"arguments": [{"tensors": [], "array": True}]},
                       {"comparisons": [{"absolute": "1", "relative": 0}]}):  # fmt: skip
            self.fails("no answer that can be used", driver.read, {**small_driver(), **change})

    def test_hostile_answers_are_refused_or_make_a_task_that_is_read(self):
        dice = random.Random(99)
        words = ["", "../../x", "a\nb", "x y", '"', "\0", "é", "-f", "$(x)", "__", "f16", "i64"]
        values = [None, -1, 0, 1, 1 << 40, 1 << 70, 1e999, 0.5, True, [], {}, [1, "2"]] + words

        def mutated(value):
            if dice.random() < 0.06:
                return dice.choice(values)
            if isinstance(value, dict):
                return {key: mutated(one) for key, one in value.items() if dice.random() > 0.01}
            return [mutated(one) for one in value] if isinstance(value, list) else value

        made = 0
        for index in range(600):
            try:
                if index % 2:
                    task = document.module_task(NAMES, module.read(mutated(small_module())), "m.py")
                else:
                    described = driver.read(mutated(small_driver()))
                    kinds = tuple(("void*", f"p{i}") for i in range(len(described["arguments"])))
                    declared = launch.Declaration(False, "void", kinds)
                    task = document.driver_task(NAMES, described, declared)
            except Failure as failure:
                self.assertTrue(failure.message)
                continue
            made += 1
            for tensor in task["tensors"]:
                self.assertRegex(tensor["name"], r"\A[A-Za-z_][A-Za-z0-9_]*\Z")
            json.dumps(task, allow_nan=False)
        self.assertGreater(made, 30)


def conv_module():
    """y = conv(x), with two parameters of the same extents."""
    return {"inputs": [row("x", [16, 3, 32]), {"name": "s", "value": 2.0}],
            "parameters": [row("bn.weight", [8]), row("bn.bias", [8]),
                           row("bn.num_batches_tracked", [], "i64")],
            "outputs": [row("output", [16, 8, 1])]}  # fmt: skip


def conv_driver():
    tensors = [("out", [16, 8]), ("bn_bias", [8]), ("bn_weight", [8]), ("input", [16, 3, 32])]
    return {"tensors": [row(name, shape, "f16", output=name == "out") for name, shape in tensors]}


class Bindings(Folder):
    def test_by_extents_then_by_name_or_by_order(self):
        found = binding.bindings(conv_module(), conv_driver())
        self.assertEqual(found, [([3], [("bn.weight", 2), ("bn.bias", 1)]),
                                 ([3], [("bn.weight", 1), ("bn.bias", 2)])])  # fmt: skip
        tensors = [{"name": name} for name in ("out", "b", "w", "x")]
        self.assertEqual(binding.options_of(found[1], conv_driver(), tensors, "model.py"),
                         {"module": "model.py", "dtype": "f16", "inputs": "x",
                          "parameters": "bn.weight=b,bn.bias=w"})  # fmt: skip

    def test_in_all_other_ways_if_they_are_few(self):
        one, other = conv_module(), conv_driver()
        one["parameters"] = [row(name, [8]) for name in "abc"] + [row(name, [7]) for name in "de"]
        other["tensors"][1:3] = []
        other["tensors"] += [{**each, "output": False} for each in one["parameters"]]
        found = binding.bindings(one, other)
        self.assertEqual(len(found), 12)
        self.assertEqual(len({repr(each) for each in found}), 12)
        for name in "fg":
            one["parameters"].append(row(name, [8]))
            other["tensors"].append(row(name, [8], output=False))
        self.assertEqual(len(binding.bindings(one, other)), 1)

    def test_extents_of_one_and_names(self):
        one, other = conv_module(), conv_driver()
        one["parameters"] = [row("bias", [8, 1, 1]), row("conv.bias", [8])]
        other["tensors"][1:3] = [row("conv_bias", [8], output=False),
                                 row("model_bias", [8, 1, 1], output=False)]  # fmt: skip
        self.assertEqual([pairs for _, pairs in binding.bindings(one, other)],
                         [[("bias", 2), ("conv.bias", 1)]])  # fmt: skip
        # state_dict() has a module's own parameters first, whatever they are used for.
        one["parameters"] = [row("bias", [8]), row("matmul.bias", [8])]
        other["tensors"][1:3] = [row("matmul_bias", [8], output=False),
                                 row("extra_bias", [8], output=False)]  # fmt: skip
        self.assertEqual(binding.bindings(one, other)[0][1], [("bias", 2), ("matmul.bias", 1)])

    def test_every_extent_is_the_same(self):
        for index, shape, words in ((3, [16, 3, 64], "input x (16x3x32)"), (0, [32, 8], "16x8x1")):
            other = conv_driver()
            other["tensors"][index]["shape"] = shape
            self.fails(words, binding.bindings, conv_module(), other)
        fewer, more = conv_driver(), conv_driver()
        del fewer["tensors"][1]
        self.fails("parameter bn.bias", binding.bindings, conv_module(), fewer)
        more["tensors"].append(row("mask", [5], output=False))
        self.fails("the driver's mask (5)", binding.bindings, conv_module(), more)


class Children(unittest.TestCase):
    """Foreign code that ends as it likes."""

    def outcomes(self, *calls, seconds=20):
        ended = {}

        def steps(index, call):
            ended[index] = yield children.Work(call, seconds, index % 2 == 0)

        children.run_all([steps(index, call) for index, call in enumerate(calls)], 2)
        return [ended[index] for index in range(len(calls))]

    def test_answers_deaths_and_junk(self):
        def raw(data):
            os.write(next(iter(children.private)), data)
            os._exit(3)

        def junk():
            raw(b'{"a": ')

        good, raises, dies, cut, says, half, deep = self.outcomes(
            lambda: {"a": os.environ["TMPDIR"]}, lambda: 1 / 0, lambda: os.kill(os.getpid(), 11),
            junk, lambda: [os.write(2, b"no\nuse\n"), os._exit(4)], lambda: "a\ud800",
            lambda: raw(b"[" * 100_000))  # fmt: skip
        self.assertEqual((half.answer, deep.answer), ("a?", None))
        self.assertFalse(os.path.exists(good.answer["a"]))
        self.assertEqual(raises.answer, {"error": "division by zero"})
        self.assertEqual((dies.answer, dies.signal), (None, 11))
        self.assertEqual((cut.answer, cut.status), (None, 3))
        self.assertEqual((says.status, says.last_line), (4, "use"))
        with self.assertRaises(Failure) as caught:
            driver.told_by(says, 20)
        self.assertIn("without an answer (status 4): use", caught.exception.message)

    def test_what_does_not_end_is_ended_with_its_processes(self):
        def forks():
            subprocess.Popen(["sleep", "3041"])
            while True:
                os.write(2, b"x" * 4096)

        (endless,) = self.outcomes(forks, seconds=1)
        self.assertTrue(endless.timed_out)
        listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True).stdout
        self.assertNotIn("sleep 3041", listed.splitlines())

    def test_stops(self):
        def steps():
            yield children.Work(lambda: os.wait(), 60, True)
            yield children.Work(lambda: [].pop() if True else 0, 60, True)

        def forever():
            yield children.Work(lambda: __import__("time").sleep(60), 60, True)

        with self.assertRaises(children.Stopped):
            children.run_all([steps(), forever()], 2, lambda: True)
        with self.assertRaises(ChildProcessError):
            os.wait()  # none is left


HEAD = f"""#include <torch/torch.h>
#include "cuda_model.cuh"
void {NAME}(void* out, void* in, int n);
"""
LINEAR = """
import torch
from torch import nn
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(6, 5)
    def forward(self, x):
        return torch.relu(self.fc(x))
def get_inputs():
    return [torch.rand(4, 6)]
def get_init_inputs():
    return []
"""
NORMED = """
class Model(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.fc = nn.Linear(n, 3)
        self.bn = nn.BatchNorm1d(3)
    def forward(self, x, scale):
        return self.bn(self.fc(x)) * scale
def get_inputs():
    return [torch.rand(1 << 32, 7), 0.5]
def get_init_inputs():
    return [7]
"""
PLAIN = "class Model(nn.Module):\n    def forward(self, {0}): return {1}\ndef get_inputs(): return {2}\n"
# As KernelBench-CUDA writes them, but on the CPU, and with every kind of argument.
DRIVER = """
#include <torch/torch.h>
#include <iostream>
#include "cuda_model.cuh"
void launch_gpu_implementation(void* output, const void* x, void* w, void* b, void** both,
                               const int64_t* shape, int64_t shape_len,
                               const std::vector<int64_t>& dims, float eps, bool flag, void* none);
int main() {
  torch::manual_seed(42);
  auto x = torch::randn({4, 6});
  torch::nn::Linear fc(6, 5);
  fc->to(torch::kDouble);
  fc->to(torch::kFloat);
  auto expected = torch::relu(fc->forward(x));
  auto output = torch::full_like(expected, NAN);
  std::vector<int64_t> shape{4, 1};
  std::vector<void*> both{fc->weight.data_ptr(), fc->bias.data_ptr()};
  launch_gpu_implementation(output.data_ptr(), x.data_ptr<float>(), fc->weight.data_ptr(),
                            fc->bias.data_ptr<void>(), both.data(), shape.data(), shape.size(), {1, 2},
                            1e-5f, true, nullptr);
  std::cout << (!output.isnan().any().item<bool>() &&
                torch::allclose(output.to(torch::kDouble), expected.to(torch::kDouble), 1e-1, 1e-2));
}
"""
# Two biases that differ in an extent of 1, and two factors whose names mislead.
BIASES = """
#include <torch/torch.h>
void launch_gpu_implementation(void* output, void* x, void* w, void* one, void* two,
                               void* its_shift, void* its_gain);
int main() {
  auto x = torch::randn({4, 6}), one = torch::randn({1, 5}), gain = torch::randn({5});
  auto shift = torch::randn({5});
  torch::nn::Linear fc(6, 5);
  auto expected = (torch::relu(fc->forward(x)) + one) * gain + shift;
  torch::full({4, 5}, NAN);  // whose memory the next tensor gets
  auto output = torch::empty_like(expected);
  launch_gpu_implementation(output.data_ptr(), x.data_ptr(), fc->weight.data_ptr(), one.data_ptr(),
                            fc->bias.data_ptr(), gain.data_ptr(), shift.data_ptr());
  return !torch::isnan(output).any().item<bool>() && torch::allclose(output, expected, 1e-3, 1e-3);
}
"""
BIASES_MODULE = """
import torch
from torch import nn
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(6, 5)
        self.bias = nn.Parameter(torch.randn(1, 5))
        self.gain = nn.Parameter(torch.randn(5))
        self.shift = nn.Parameter(torch.randn(5))
    def forward(self, x):
        return (torch.relu(self.fc(x)) + self.bias) * self.gain + self.shift
def get_inputs():
    return [torch.rand(4, 6)]
def get_init_inputs():
    return []
"""


class Whole(Folder):
    """The program, on checkouts of our own."""

    def run_import(self, *options, status=0):
        command = [PROGRAM, "task", "import", self.folder / "checkout", "--out",
                   self.folder / "tasks", "--jobs", "2", "--json", *options]  # fmt: skip
        ran = subprocess.run(command, capture_output=True, text=True,
                             env={**os.environ, "WARPSMITH_PYTHON": PYTHON})  # fmt: skip
        self.assertEqual(ran.returncode, status, ran.stderr)
        return json.loads(ran.stdout).get("problems", ran.stdout)

    def module(self, number, text):
        return self.write(f"checkout/level1/{number}_p.py",
                          f"import torch\nfrom torch import nn\n{text}")  # fmt: skip

    def task(self, name):
        return (self.folder / "tasks" / name / "task.toml").read_text()

    def test_refuses_before_any_work(self):
        self.assertIn("no such folder", self.run_import(status=66))
        self.write("checkout/level1/001_All/driver.cpp", "int main() {}\n")
        self.assertIn("--dtype", self.run_import("--dtype", "f16", status=2))
        self.assertIn("no name for a folder", self.run_import("--set", "../../x", status=2))
        self.assertIn("--only picks none of 1 problems", self.run_import("--only", "level2", status=2))
        self.write("tasks", "a file")
        self.assertIn("making the folder", self.run_import(status=74))

    def test_says_that_the_python_is_none(self):
        self.module(1, NORMED)
        ran = subprocess.run([PROGRAM, "task", "import", self.folder / "checkout"], text=True,
                             capture_output=True, cwd=self.folder,
                             env={**os.environ, "WARPSMITH_PYTHON": "/bin/true"})  # fmt: skip
        self.assertEqual(ran.returncode, 69)
        self.assertIn("/bin/true: it ended without an answer", ran.stderr)

    def test_undeclared_launches_are_rows(self):
        self.write("checkout/level1/001_None/driver.cpp", "int main() {}\n")
        self.write("checkout/level1/002_Lacks/readme")
        (first, second) = self.run_import(status=1)
        self.assertIn("is not declared", first["reason"])
        self.assertIn("driver.cpp: No such file", second["reason"])

    @unittest.skipUnless(HAS_TORCH, "no torch")
    def test_modules_become_tasks_and_are_kept(self):
        self.write("checkout/KernelBench/level1/1_Linear.py", LINEAR)
        self.write("checkout/KernelBench/level1/2_Broken.py", "get_inputs = 1 +\n")
        first, second = self.run_import("--set", "own")
        self.assertEqual((first["result"], first["bytes"]), ("imported", 4 * (4 * 5 + 4 * 6 + 5 * 6 + 5)))
        self.assertEqual(second["result"], "refused")
        self.assertIn("SyntaxError", second["reason"])
        self.assertIn('name = "kernelbench-own/level1/1_Linear"',
                      self.task("kernelbench-own/level1/1_Linear"))  # fmt: skip
        self.assertEqual((Path(first["folder"]) / "model.py").read_text(), LINEAR)
        self.assertEqual(self.run_import("--set", "own")[0]["result"], "kept")
        kept, absent, other = self.run_import("--set", "own", "--only", "level1/1,level1/3,level1/2_Other")
        self.assertEqual((kept["result"], absent["problem"], absent["result"]),
                         ("kept", "level1/3", "refused"))  # fmt: skip
        self.assertIn("picks no problem", other["reason"])
        # A task.toml that cannot be read is no finished import.
        (Path(first["folder"]) / "task.toml").write_text("version = 1\n")
        self.assertEqual(self.run_import("--set", "own", "--only", "level1/1")[0]["result"], "imported")
        # A folder that could be made, and a problem's below it that cannot.
        self.write("tasks/kernelbench-file/level1", "a file")
        self.assertIn("making the folder", self.run_import("--set", "file", status=74))

    @unittest.skipUnless(HAS_TORCH, "no torch")
    def test_shapes_without_memory_and_reasons(self):
        self.module(1, NORMED)
        bad = {2: (PLAIN.format("x", "None", "[torch.rand(2)]"), "returns a NoneType"),
               3: ("import os; os._exit(3)  # get_inputs\n", "ended without an answer"),
               4: ("x = 1\n", "defines no Model"), 5: ("x =\n", "SyntaxError"),
               6: (PLAIN.format("x, s", "x * s", "[torch.rand(2), __import__('random').random()]"),
                   "draws a number"),
               7: (PLAIN.format("xs", "xs[0]", "[[torch.rand(2, 3)]]"), "xs is a list, not a tensor"),
               8: (PLAIN.format("x, n", "x", "[torch.rand(2), None]"), "expected a number")}  # fmt: skip
        for number, (text, _) in bad.items():
            self.module(number, text + "def get_init_inputs(): return []\n" * ("Model" in text))
        rows = self.run_import("--set", "own")
        self.assertEqual(rows[0]["result"], "imported", rows[0]["reason"])
        task = self.task("kernelbench-own/level1/1_p")
        self.assertIn('"void launch_gpu_implementation(void* output, const void* x, double scale, '
                      "const void* fc_weight", task.replace('extern \\"C\\" ', ""))  # fmt: skip
        self.assertIn("shape = [4294967296, 3]", task)
        for got, (_, words) in zip(rows[1:], bad.values()):
            self.assertIn(words, got["reason"])
        # The module's whole numbers (batch norm counts its batches) stay what they are.
        cast = self.run_import("--set", "own", "--dtype", "f16", "--only", "level1/1")
        self.assertEqual(cast[0]["result"], "imported")
        task = self.task("kernelbench-own-f16/level1/1_p")
        self.assertNotIn('dtype = "f32"', task)
        self.assertEqual(task.count('dtype = "i64"'), 1)

    @unittest.skipUnless(HAS_TORCH, "no torch")
    def test_drivers_are_taken_apart(self):
        run = "auto x = torch::rand({8}); auto y = torch::empty_like(x);\n"
        drivers = {
            "001_All": DRIVER, "003_Broken": HEAD + "int main() { auto x = torch::no(; }\n",
            "002_Silent": f"{HEAD}int main() {{ {run}{NAME}(y.data_ptr(), x.data_ptr(), 8); }}\n",
            "004_Crash": HEAD + "int main() { *static_cast<volatile int*>(nullptr) = 1; }\n",
            "005_Undeclared": "int main() {}\n",
            "006_InPlace": f"{HEAD}int main() {{ auto x = torch::rand({{8}}); auto y = torch::relu(x);\n"
            f"{NAME}(x.data_ptr(), x.data_ptr(), 8);\nreturn torch::allclose(x, y); }}\n",
            "007_Throws": HEAD + 'int main() { throw std::runtime_error("no such device"); }\n',
            "008_Other": DRIVER.replace("torch::relu", "torch::tanh"), "009_Biases": BIASES,
        }  # fmt: skip
        for name, text in drivers.items():
            self.write(f"checkout/level1/{name}/driver.cpp", text)
        self.write("checkout/level1/001_All/init.cu", f"void {NAME}(void* output) {{}}\n")
        self.write("checkout/level1/009_Biases/init.cu",
                   f'extern "C" void {NAME}(void*, void*, void*, void*, void*, void*, void*) {{}}\n')  # fmt: skip
        self.write("python/level1/1_Linear.py", LINEAR)
        self.write("python/level1/8_Linear.py", LINEAR)
        self.write("python/level1/9_Biases.py", BIASES_MODULE)
        rows = self.run_import("--python", self.folder / "python")
        wanted = ["(1, not 11): it cannot load", "no torch::allclose", "error:", "Segmentation fault",
                  "is not declared", "in place", "throws: no such device",
                  "no torch baseline: the module gives other outputs", "has C linkage"]  # fmt: skip
        for got, words in zip(rows, wanted, strict=True):
            self.assertIn(words, got["reason"])
        self.assertEqual([got["result"] for got in rows],
                         ["imported", *["refused"] * 6, "imported", "imported"])  # fmt: skip
        biases = self.task("kernelbench-cuda/level1/009_Biases")
        self.assertIn('extern \\"C\\"', biases)
        self.assertIn('parameters = "bias=one,gain=its_shift,shift=its_gain,fc.weight=w,fc.bias=two"', biases)
        every = self.task("kernelbench-cuda/level1/001_All")
        self.assertIn(
            '["output", "x", "w", "b", "std::vector<void*>{tensors[2], tensors[3]}.data()", '
            '"std::vector<int64_t>{4, 1}.data()", "2", "std::vector<int64_t>{1, 2}", '
            '"9.99999975e-06f", "true", "nullptr"]', every)  # fmt: skip
        self.assertIn("absolute = 0.01\n", every)
        self.assertIn('baselines = ["torch-best"]', every)
        self.assertIn('parameters = "fc.weight=w,fc.bias=b"', every)
        self.assertEqual(self.run_import("--python", self.folder / "python")[0]["result"], "kept")

    @unittest.skipUnless(HAS_TORCH, "no torch")
    def test_a_driver_that_does_not_end(self):
        self.write("checkout/level1/001_Forever/driver.cpp",
                   HEAD + 'int main() { for (;;) puts("x"); }\n')  # fmt: skip
        (only,) = self.run_import("--limit", "1", status=1)
        self.assertIn("did not end within 1 s", only["reason"])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
