"""The kernel repository that formats.huggingface writes, loaded by Hugging Face's kernels.

  kernels_contract.py LIBRARY

kernels 0.17.2 and apache-tvm-ffi from the package index, on the CPU. Without torch the loader's parts
are called by themselves, because the loader chooses the backend by torch. With WARPSMITH_CUDA_HOME
naming the fake driver, whose device memory is the host's, products are computed as well.
"""

import importlib
import os
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

from kernels import get_local_kernel
from kernels._rust import Digest, DigestAlgorithm, Metadata
from kernels.backends import CUDA
from kernels.importer import _import_from_path
from kernels.validate import default_metadata_validators
from kernels.variants import _resolve_variant_for_system, get_variants_local
from packaging.version import Version
from warpsmith.formats import huggingface

TORCH = find_spec("torch") is not None


def chosen(build, torch_version, tvm_ffi_version):
    """What a machine with CUDA 13.2 takes."""
    found, _ = _resolve_variant_for_system(
        get_variants_local(build), CUDA(version=Version("13.2")), "x86_64", "linux",
        torch_version and Version(torch_version), True, Version(tvm_ffi_version),
    )  # fmt: skip
    return [one.variant_str for one in found]


def check_products(module):
    import torch

    dlpack = importlib.import_module("._dlpack", module.__name__)
    module._operator._DEVICE_TYPE = dlpack._DEVICE = "cpu"
    a, b = torch.randint(-2, 3, (5, 7)).half(), torch.randint(-2, 3, (3, 7)).half().T
    out = torch.empty(5, 3).half()
    assert torch.equal(module.matmul(a, b).float(), a.float() @ b.float())
    dlpack.matmul(a, b, out)
    assert torch.equal(out.float(), a.float() @ b.float())
    assert "cuBLASLt" in dlpack.explain(a, b, out)
    operator = getattr(torch.ops, module.__name__).matmul
    assert torch.equal(operator(a, b), out)
    for wrong, words in ((a, "is not"), (b.float(), "expected float16")):
        try:
            dlpack.matmul(a, wrong, out)
        except (TypeError, ValueError) as error:
            assert words in str(error), error
        else:
            raise AssertionError(f"{words}: was not refused")


def main():
    with tempfile.TemporaryDirectory() as name:
        pack = Path(name) / "gemm.wspack"
        pack.write_bytes(huggingface.PACK_MAGIC)  # the loader does not look into it
        repository = Path(name) / "gemm"
        variants = huggingface.export(sys.argv[1], pack, repository)
        build = repository / "build"
        assert sorted(chosen(build, "2.11", "0.1")) == sorted(variants)
        assert chosen(build, "2.11", "0.2") == ["torch-cuda"]
        for variant in variants:
            metadata = Metadata.read_from_file(build / variant / "metadata.json")
            metadata.digest.validate(Digest.hash_variant(DigestAlgorithm.SHA256, build / variant))
            for validator in default_metadata_validators():
                validator.validate_metadata(metadata=metadata, variant=variant)
            module = _import_from_path(build / variant, deps={})
            assert callable(module.matmul) and callable(module.explain)
            assert module.__name__ == metadata.id
        if TORCH:
            import torch

            if torch.version.cuda is not None:
                assert get_local_kernel(repository).matmul
            if "WARPSMITH_CUDA_HOME" in os.environ:
                (build / "torch-cuda/lib/warpsmith/gemm.wspack").unlink()  # it is none
                check_products(_import_from_path(build / "torch-cuda", deps={}))
                print("products are right")


main()
