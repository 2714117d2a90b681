"""What tools/study/libraries.py makes of samples. By unittest."""

import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tools/study"))
import libraries  # noqa: E402

HEAD = "m,n,k,mode,contender,process,round,us\n"


def samples(k: int, **times: list[float]) -> str:
    return "".join(f"64,64,{k},device,{name.replace('_tn', '-tn')},0,{at},{us}\n"
                   for name, all_of in times.items() for at, us in enumerate(all_of))  # fmt: skip


class Libraries(unittest.TestCase):
    def test_ratios_are_of_one_round(self) -> None:
        text = HEAD + samples(64, kernel=[1, 2, 4], ours=[2, 4, 8], lt_auto=[2, 4, 8], cublas_tn=[3, 6, 4])
        ratios = libraries.ratios_of(text, with_library=True)
        self.assertEqual(ratios["device", "kernel", "cublas-tn"], {"64x64x64": 3})
        self.assertEqual(ratios["device", "plain", "lt_auto"], {"64x64x64": 2})
        self.assertEqual(ratios["device", "ours", "lt_auto"], {"64x64x64": 1})

    def test_a_shape_beside_the_bar_alone_is_left_out(self) -> None:
        text = HEAD + samples(64, kernel=[1], ours=[1], lt_auto=[2])
        self.assertEqual(libraries.ratios_of(text, with_library=True), {})

    def test_a_library_without_its_pack_is_left_out(self) -> None:
        text = HEAD + samples(64, kernel=[1], ours=[1], lt_auto=[2], cublas_tn=[2])
        ratios = libraries.ratios_of(text, with_library=False)
        self.assertEqual({ours for _, ours, _ in ratios}, {"kernel", "plain"})

    def test_files_of_one_shape_are_joined(self) -> None:
        key = ("device", "kernel", "cublas-tn")
        joined = libraries.joined([{key: {"a": 1.0, "b": 3.0}}, {key: {"a": 4.0}}])
        self.assertAlmostEqual(joined[key][0], 2.0)
        self.assertAlmostEqual(joined[key][1], 3.0)
        self.assertEqual(libraries.line_of([1.0, 3.0]).split()[:3], ["2", "2.000", "2.000"])


if __name__ == "__main__":
    unittest.main()
