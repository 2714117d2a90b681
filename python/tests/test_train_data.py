"""Training data: what becomes a row, what is refused, what is held out; nothing crashes it.

The first argument is the checkout. Needs the packages of warpsmith[train]; nothing is compiled.
"""

import contextlib
import io
import json
import os
import random
import re
import sys
import tempfile
import unittest
from collections import Counter
from pathlib import Path
from unittest import mock

CHECKOUT = Path(sys.argv[1])

from warpsmith import BadInput
from warpsmith.formats import recording
from warpsmith.train import cleaning, data, measured, rows, units
from warpsmith.train.__main__ import main

MIT = "Permission is hereby granted, free of charge, to any person obtaining a copy\n"
KERNEL = """// Scales a vector.
__global__ void scale(float* y, const float* x, float factor, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = factor * x[i];
}
"""
SPACE = CHECKOUT / "data/recordings/spaces/h200-64x128x8192.wsrec"


def other_kernel(number):
    """Kernels that are no near-duplicates of each other."""
    draws = random.Random(number)
    words = ["".join(draws.choices("abcdefghij", k=6)) for _ in range(36)]
    lines = [f"  {one} += {words[12 + i]}[{draws.randrange(100)}] * {words[24 + i]};"
             for i, one in enumerate(words[:12])]  # fmt: skip
    return f"__global__ void k{number}(float* x) {{\n" + "\n".join(lines) + "\n}\n"


class Folder(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = Path(temporary.name).resolve()
        self.code = self.folder / "code"
        self.code.mkdir()

    def write(self, name, content, license=MIT):
        path = self.code / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        if license:
            (self.code / "LICENSE").write_text(license)
        return path

    def command(self, *arguments):
        """Exit status, standard output and standard error."""
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = main([str(one) for one in arguments])
        return status, out.getvalue(), err.getvalue()

    def made(self, *arguments):
        """Rows and card of the folder's code."""
        output = self.folder / "data.jsonl"
        status, _, err = self.command("data", self.code, "-o", output, "--no-compile", *arguments)
        self.assertEqual(status, 0, err)
        lines = output.read_text().splitlines()
        card = json.loads(output.with_suffix(".card.json").read_text())
        return [json.loads(line) for line in lines], card

    def refused(self, reason):
        """That nothing is left, for this reason."""
        output = self.folder / "refused.jsonl"
        status, _, err = self.command("data", self.code, "-o", output, "--no-compile")
        self.assertEqual(status, 65, err)
        self.assertIn(reason, err)
        self.assertEqual(len(err.splitlines()), 1, err)
        self.assertFalse(output.exists())


class WhatBecomesARow(Folder):
    def test_a_file_is_a_row_with_its_licence(self):
        self.write("scale.cu", KERNEL)
        [row], card = self.made("--form", "triplet,completion,text")
        self.assertEqual(row["license"], "MIT")
        self.assertEqual(row["code"], KERNEL)
        self.assertEqual(row["origin"], "code/scale.cu")
        self.assertEqual(row["compiles"], "not-tried")
        self.assertIn("scale(float* y", row["instruction"])
        self.assertIn("Scales a vector.", row["instruction"])
        self.assertIn("```cuda kernel.cu\n" + KERNEL + "```\n", row["completion"])
        self.assertEqual(row["text"], "# Instruction\n\n" + row["prompt"] + row["completion"])
        self.assertEqual(card["rows"], 1)

    def test_the_same_material_gives_the_same_file(self):
        for number in range(5):
            self.write(f"{number}.cu", other_kernel(number))
        first, _ = self.made()
        again, _ = self.made()
        self.assertEqual(first, again)
        self.assertEqual(len(first), 5)

    def test_notices_at_the_head_are_left_to_the_licence_field(self):
        notice = "// Copyright 2020 A Person\n// SPDX-License-Identifier: BSD-3-Clause\n\n"
        self.write("a.cu", notice + KERNEL)
        [row], _ = self.made()
        self.assertEqual(row["code"], KERNEL)
        self.assertEqual(row["license"], "BSD-3-Clause", "a file's own word counts first")

    def test_near_duplicates_are_one_row(self):
        self.write("a.cu", KERNEL)
        self.write("b.cu", KERNEL.replace("Scales a vector", "Another comment") + "\n\n")
        self.write("c.cu", other_kernel(1))
        made, card = self.made()
        self.assertEqual(len(made), 2)
        self.assertEqual(card["left_out"], {"near-duplicate": 1})

    def test_a_long_file_is_cut_into_units_that_stand_alone(self):
        shared = "struct Shared { float x; };\n"
        shared += "static __device__ float Help(Shared s) { return s.x; }\n"
        kernels = "".join(
            f"__global__ void k{i}(float* y) {{ y[0] = Help({{{i}.f}}); /* {'x' * 3000} */ }}\n"
            for i in range(8))  # fmt: skip
        unused = "static __device__ int Unused() { return 1; }\n"
        found = units.units(f"#include <cuda.h>\n{shared}{unused}namespace a {{\n{kernels}}}\n")
        self.assertEqual(len(found), 8)
        for number, unit in enumerate(found):
            self.assertIn(f"k{number}(", unit)
            self.assertIn("struct Shared", unit)
            self.assertIn("Help(Shared s)", unit)
            self.assertIn("#include <cuda.h>", unit)
            self.assertIn("namespace a {", unit)
            self.assertNotIn("Unused", unit)
            self.assertEqual(unit.count("__global__"), 1)

    def test_a_models_words_replace_the_rules(self):
        self.write("scale.cu", KERNEL)
        output, asked = self.folder / "data.jsonl", self.folder / "asked"
        command = ("data", self.code, "-o", output, "--no-compile", "--ask", asked)
        status, _, err = self.command(*command)
        self.assertEqual(status, 79, err)
        [prompt] = asked.iterdir()
        self.assertIn("y[i] = factor * x[i]", prompt.read_text())
        answer = asked / prompt.name.replace(".prompt.", ".answer.")
        answer.write_text("Write a kernel that multiplies each element.\n")
        self.assertEqual(self.command(*command)[0], 0)
        row = json.loads(output.read_text())
        self.assertEqual(row["instruction"], "Write a kernel that multiplies each element.")
        answer.write_text("Ask joe@example.org.")
        self.assertEqual(self.command(*command)[0], 65)


class WhatIsRefused(Folder):
    def test_a_folder_without_code(self):
        (self.code / "notes.txt").write_text("nothing")
        self.refused("holds no .cu or .cuh file")

    def test_what_is_not_there(self):
        status, _, err = self.command("data", self.folder / "none", "-o", self.folder / "x.jsonl")
        self.assertEqual(status, 66, err)
        status, _, err = self.command("data", self.code, "-o", self.folder / "none/x.jsonl")
        self.assertEqual(status, 66, err)
        status, _, err = self.command("data", self.code, "-o", self.folder / "x.jsonl", "--documents",
                                      self.folder / "none.md")  # fmt: skip
        self.assertEqual(status, 66, err)
        self.assertIn("none.md is not there", err)

    def test_licences_that_forbid_and_code_without_one(self):
        self.write("a.cu", KERNEL, license=None)
        self.refused("no licence found")
        self.write("a.cu", KERNEL, license="GNU GENERAL PUBLIC LICENSE\nVersion 3\n")
        self.refused("licence GPL-3.0-only")
        made, _ = self.made("--allow", "GPL-3.0-only")
        self.assertEqual(made[0]["license"], "GPL-3.0-only")
        self.write("a.cu", "// SPDX-License-Identifier: \x1b[31mMIT AND evil\n" + KERNEL)
        self.refused("licence ?[31mMIT AND evil".replace("[", "?"))

    def test_licence_expressions(self):
        allowed = cleaning.PERMISSIVE
        for good in ("MIT", "MIT OR GPL-3.0-only", "Apache-2.0 WITH LLVM-exception",
                     "(MIT AND ISC)"):  # fmt: skip
            self.assertTrue(cleaning.is_allowed(good, allowed), good)
        for bad in ("", "((", "GPL-2.0-only", "MIT AND GPL-3.0-only", "LicenseRef-NVIDIA",
                    "x" * 9999):  # fmt: skip
            self.assertFalse(cleaning.is_allowed(bad, allowed), bad)

    def test_a_file_of_100_megabytes_is_not_read(self):
        with self.write("large.cu", KERNEL).open("ab") as file:
            file.truncate(100 << 20)
        gathered = data.Gathering(_options())
        with mock.patch.object(Path, "read_bytes", side_effect=AssertionError("was read")):
            gathered.add_folder(self.code, stated="MIT")
        self.assertEqual(gathered.left_out, Counter({"more than 1 MiB": 1}))

    def test_other_encodings_are_read_and_bytes_are_not(self):
        text = KERNEL.replace("Scales", "Skaliert für 100 €")
        for encoding in ("utf-8-sig", "utf-16", "cp1252"):
            self.assertIn("Skaliert f", cleaning.decoded(text.encode(encoding)))
        for bad in (b"\x00\x01\x02", b"\xff\xfe\x00", os.urandom(64) + b"\0"):
            with self.assertRaises(cleaning.Refused):
                cleaning.decoded(bad)

    def test_links_lead_nowhere(self):
        outside = self.folder / "secret.cu"
        outside.write_text(KERNEL)
        (self.code / "link.cu").symlink_to(outside)
        (self.code / "LICENSE").write_text(MIT)
        self.refused("holds no .cu or .cuh file")

    def test_secrets_and_personal_data(self):
        for bad, reason in (("AKIAIOSFODNN7EXAMPL2", "secret"), ("ghp_" + "a1" * 18, "secret"),
                            ("-----BEGIN RSA PRIVATE KEY-----", "secret"),
                            ("joe.doe@example.org", "e-mail"), ("/home/joe/data", "folder"),
                            ("10.1.2.3", "network"), ("+49 30 1234567", "telephone")):  # fmt: skip
            self.write("a.cu", KERNEL + f"// {bad}\n")
            self.refused(reason)

    def test_what_is_no_kernel_of_a_person(self):
        for bad, reason in ((KERNEL.replace("Scales a vector", "This file was generated by x"),
                             "generated"),
                            ("int main() {}\n", "no device code"),
                            ("__global__ void k() {}\nint t[] = {" + "1, 2, " * 300 + "};\n",
                             "numbers"),
                            ("__global__ void k() {} // " + "y" * 3000, "2000 characters")):
            self.write("a.cu", bad)
            self.refused(reason)

    def test_options(self):
        for wrong in (["--form", "poem"], ["--hold-out", "2"], ["--similarity", "x"]):
            with self.assertRaises(SystemExit) as end, contextlib.redirect_stderr(io.StringIO()):
                main(["data", "-o", "x", *wrong])
            self.assertEqual(end.exception.code, 2)
        status, _, err = self.command("data", SPACE, "-o", self.folder / "x.jsonl")
        self.assertEqual(status, 78, err)
        self.assertIn("--license", err)

    def test_a_missing_package_is_named(self):
        self.write("a.cu", KERNEL)
        with mock.patch.dict(sys.modules, {"detect_secrets.core.scan": None}):
            status, _, err = self.command("data", self.code, "-o", self.folder / "x.jsonl")
        self.assertEqual(status, 69)
        path = re.search(r"pip install -r (\S+)$", err.strip()).group(1)
        self.assertIn("detect-secrets", Path(path).read_text())


class WhatIsHeldOut(Folder):
    def test_shapes_and_families_by_their_names(self):
        hold_out = rows.HoldOut(0.2, 1, frozenset({"softmax"}), frozenset({"1x2x3"}))
        self.assertTrue(hold_out.holds_shape("1x2x3"))
        drawn = sum(hold_out.holds_shape(f"{m}x64x64") for m in range(2000))
        self.assertAlmostEqual(drawn / 2000, 0.2, delta=0.03)
        row = rows.Row(kind="code", origin="", license="MIT", family="softmax", code="")
        self.assertEqual(hold_out.split(row), rows.HELD_OUT_FAMILY)
        row.shape = {"m": 1, "n": 2, "k": 3, "layout": "TN", "dtype": "f16"}
        self.assertEqual(hold_out.split(row), rows.HELD_OUT_SHAPE)
        self.assertEqual(rows.HoldOut(0).split(row), rows.TRAIN)

    def test_nothing_of_a_held_out_shape_stands_in_a_training_row(self):
        found = measured.from_recording(SPACE, "Apache-2.0")
        for m in (64, 128):  # the same kernels, as if of other shapes
            more = measured.from_recording(SPACE, "Apache-2.0").rows[:40]
            for row in more:
                row.shape = {**row.shape, "m": m, "n": 64}
                row.task = f"hgemm:{m}x64x8192:TN"
            found.rows += more
        held = rows.HoldOut(0, 1, shapes=frozenset({"64x128x8192"}))
        described = measured.described(found, held)
        splits = Counter(row.split for row in described)
        self.assertGreater(splits[rows.HELD_OUT_SHAPE], 1000)
        for row in described:
            if row.split == rows.TRAIN:
                self.assertNotIn("64x128x8192", row.context + row.instruction)
            else:
                self.assertIn("64x64x8192", row.context, "its neighbours are shown")

    def test_answers_to_kernelbench_are_marked(self):
        self.write("a.cu", KERNEL.replace("scale(", "square_matrix_multiplication("))
        self.write("b.cu", other_kernel(2).replace("k2", "KernelBench_k2"))
        self.write("c.cu", other_kernel(3))
        made, card = self.made()
        self.assertEqual(Counter(row["split"] for row in made), {"kernelbench": 2, "train": 1})
        self.assertEqual(card["kernelbench"]["names a problem"], 1)
        self.assertEqual(card["kernelbench"]["names KernelBench"], 1)

    def test_a_checkout_of_kernelbench_is_searched_for(self):
        bench = self.folder / "bench/level1"
        bench.mkdir(parents=True)
        (bench / "1_Very_special_product_.py").write_text("")
        (bench / "answer.cu").write_text(other_kernel(4))
        self.write("a.cu", other_kernel(4).replace("k4", "mine"))
        self.write("b.cu", other_kernel(5))
        made, card = self.made("--kernelbench", self.folder / "bench")
        self.assertEqual(Counter(row["split"] for row in made), {"kernelbench": 1, "train": 1})
        self.assertEqual(card["kernelbench"]["is like a known answer"], 1)
        self.assertEqual(
            self.command("data", self.code, "-o", self.folder / "x.jsonl", "--kernelbench",
                         self.code)[0], 65)  # fmt: skip


class Measured(Folder):
    def test_rows_of_a_recording_hold_code_plan_and_time(self):
        found = measured.from_recording(SPACE, "Apache-2.0")
        read = recording.read(SPACE, with_sources=True)
        judged = [one for one in read.spaces[0].points if one.ratio is not None]
        self.assertEqual(len(found.rows), len(judged))
        described = measured.described(found, rows.HoldOut(0))
        best = described[0]
        self.assertIn("as fast as you can", best.instruction)
        self.assertEqual(best.task, "hgemm:64x128x8192:TN")
        self.assertEqual(best.compiles, "judged")
        self.assertIn("operations", best.plan)
        low, high = best.measured["interval"]
        self.assertTrue(low <= best.measured["ratio"] <= high)
        self.assertTrue(all(one in found.sources for one in best.sources.values()))
        pairs = [row for row in described if row.kind == "improvement"]
        self.assertGreater(len(pairs), 5)
        for row in pairs:
            self.assertIn("write a faster one", row.instruction)

    def test_a_recording_that_is_cut_is_refused(self):
        whole = SPACE.read_bytes()
        cut = self.folder / "cut.wsrec"
        for share in (0, 0.3, 0.9):
            cut.write_bytes(whole[: int(len(whole) * share)])
            with self.assertRaises(BadInput):
                measured.from_recording(cut, "MIT")

    def test_tuning_rows(self):
        table = self.folder / "t.csv"
        head = "shape,kernel,ratio_to_cublaslt,lo,hi\n"
        table.write_text("# said\n" + head + "1x2x3,wgmma a=1,1.5,1.4,1.6\n" * 2
                         + "1x2x3,wgmma a=2,0,0,0\n")  # fmt: skip
        [row] = measured.read_tuning_rows(table)
        self.assertEqual((row.shape, row.kernel, row.ratio), ("1x2x3", "wgmma a=1", 1.5))
        for bad in ("x,wgmma,1,1,1\n", "1x2x3,wgmma,nan,1,1\n", "1x2x3,wgmma,1\n", "1x2,w,1,1,1\n"):
            table.write_text(head + bad)
            with self.assertRaises(BadInput, msg=bad):
                measured.read_tuning_rows(table)
        (self.folder / "t.csv.gz").write_bytes(b"no gzip")
        with self.assertRaises(BadInput):
            measured.read_tuning_rows(self.folder / "t.csv.gz")


class NothingCrashesIt(Folder):
    """Mutations of files: each gives text or a reason."""

    def test_readers_of_files(self):
        draws = random.Random(1)
        seeds = [path.read_bytes() for path in sorted((CHECKOUT / "src").rglob("*.cuh"))[:8]]
        seeds.append(KERNEL.encode("utf-16"))
        seeds.append(b"namespace a {" * 3000 + b"__global__ void k() {}" + b"}" * 3000)
        seeds.append(b"#if 1\n" * 2000 + b"__global__ void k() {}\n")
        reasons = Counter()
        for trial in range(300):
            mutated = bytearray(draws.choice(seeds))
            for _ in range(draws.randrange(1, 30)):
                at = draws.randrange(len(mutated))
                kind = draws.randrange(4)
                if kind == 0:
                    mutated[at] = draws.randrange(256)
                elif kind == 1:
                    del mutated[at : at + draws.randrange(1, 200)]
                elif kind == 2:
                    pieces = [b"{", b"}", b'"', b"/*", b"*/", b"\\\n", b"#if 1\n"]
                    mutated[at:at] = draws.choice(pieces)
                else:
                    mutated[at:at] = mutated[: draws.randrange(1, 200)]
                if len(mutated) == 0:
                    mutated = bytearray(b" ")
            try:
                text = cleaning.cleaned(cleaning.decoded(bytes(mutated)), is_header=True)
                cleaning.license_in(text)
                with mock.patch.object(units, "MOST_UNIT_BYTES", 500):
                    for unit in units.units(text):
                        unit.encode()
                if trial % 20 == 0:
                    cleaning.check_private(text)
            except cleaning.Refused as refusal:
                reasons[str(refusal)] += 1
        self.assertGreater(300 - sum(reasons.values()), 50, f"most are read: {reasons}")

    def test_readers_of_recordings(self):
        import zstandard

        draws = random.Random(2)
        text = zstandard.ZstdDecompressor().stream_reader(SPACE.read_bytes()).read(400_000)
        lines = text.splitlines()[:-1]
        path = self.folder / "m.wsrec"
        for _ in range(60):
            chosen = [bytearray(line) for line in draws.sample(lines, 40)]
            chosen.insert(0, bytearray(lines[0]))
            line = draws.choice(chosen)
            at = draws.randrange(len(line))
            line[at : at + 8] = draws.choice([b"null", b"[]", b"1e999", b'"', b"{}", b"-1"])
            path.write_bytes(zstandard.ZstdCompressor().compress(b"\n".join(map(bytes, chosen))))
            with contextlib.suppress(BadInput):
                measured.from_recording(path, "MIT")


def _options():
    import argparse

    parser = argparse.ArgumentParser()
    data.add_command(parser.add_subparsers())
    return parser.parse_args(["data", "-o", "x", "--no-compile"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
