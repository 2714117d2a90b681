"""Puts the shared library, and the pack of kernels where one is named, into the wheel."""

import os
import shutil
from pathlib import Path

from setuptools import setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py

LIBRARY = "libwarpsmith_gemm.so.1"


def _named(variable):
    text = os.environ.get(variable)
    if text is None:
        return None
    path = Path(text)
    if not path.is_file():
        raise SystemExit(f"{variable} names {path}, which is no file")
    return path


class BuildWithLibrary(build_py):
    def run(self):
        super().run()
        library = _named("WARPSMITH_GEMM_LIBRARY")
        if library is None:
            raise SystemExit(
                "set WARPSMITH_GEMM_LIBRARY to the libwarpsmith_gemm.so that the wheel shall carry"
            )
        folder = Path(self.build_lib) / "warpsmith" / "lib"
        (folder / "warpsmith").mkdir(parents=True, exist_ok=True)
        shutil.copyfile(library, folder / LIBRARY)
        pack = _named("WARPSMITH_GEMM_PACK")
        if pack is not None:
            shutil.copyfile(pack, folder / "warpsmith" / "gemm.wspack")


class PlatformWheel(bdist_wheel):
    """Any Python 3, this platform: there is a shared library inside, but none of Python's."""

    def finalize_options(self):
        super().finalize_options()
        self.root_is_pure = False

    def get_tag(self):
        return "py3", "none", super().get_tag()[2]


setup(cmdclass={"build_py": BuildWithLibrary, "bdist_wheel": PlatformWheel})
