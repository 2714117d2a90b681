"""A driver's shared library: the unchanged driver.cpp between our capture's header and objects.

The cache ($XDG_CACHE_HOME/warpsmith/drivers) holds the objects and every driver's library, by the
hash of all that goes into them. Torch's headers take half a minute to compile; whoever builds
several drivers precompiles them once (precompile()) into a folder that he removes afterwards.
"""
import contextlib
import ctypes
import fcntl
import glob
import hashlib
import importlib
import os
import pathlib
import resource
import shutil
import subprocess
import tempfile

import torch

# -O0: the driver's main() is renamed, and only then may it end without a return.
# -DNDEBUG: as torch was built, for its classes have other members without it.
_FLAGS = ["-std=c++20", "-O0", "-fPIC", "-w", "-pipe", "-DNDEBUG"]
_OBJECTS = ["capture.cc", "run_record.cc"]
_COMPILER_BYTES = 12 << 30  # of address space, for a source that makes the compiler run away
DRIVER, LAUNCH = "driver.cpp", "launch.inc"

# The macros come after torch's headers: only the driver's own words are replaced.
_MAIN = """#include "capture.h"
#define main warpsmith_driver_main
#define manual_seed warpsmith_manual_seed
#define manual_seed_all warpsmith_manual_seed_all
#include "driver.cpp"
#undef main
#undef manual_seed
#undef manual_seed_all
#include "launch.inc"
namespace warpsmith::capture {
int DriverMain() { return Invoke(&::warpsmith_driver_main); }
}
"""


class BuildFailed(Exception):
    """One line that says what the compiler could not take."""


def capture_sources():
    """name -> text of our own sources, which are carried inside the program."""
    files = importlib.import_module("warpsmith_driver").__spec__.loader.files
    prefix = "warpsmith_driver/capture/"
    return {path[len(prefix):]: text for path, text in files.items() if path.startswith(prefix)}


def cache_folder():
    base = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return pathlib.Path(base) / "warpsmith" / "drivers"


def compiler():
    return os.environ.get("CXX", "g++")


def _cuda_folders(kind):
    """Where cuda_runtime.h ("include") or libcudart ("lib*") may be: some drivers use them."""
    site = pathlib.Path(torch.__file__).parent.parent
    roots = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH")]
    if nvcc := shutil.which("nvcc"):
        roots.append(str(pathlib.Path(nvcc).resolve().parent.parent))
    roots += [*glob.glob(str(site / "nvidia" / "cu[0-9]*")),
              str(site / "nvidia" / "cuda_runtime"), "/usr/local/cuda"]
    found = [path for root in roots if root for path in sorted(glob.glob(f"{root}/{kind}"))]
    return list(dict.fromkeys(found))


def _torch_folder(*parts):
    return str(pathlib.Path(torch.__file__).parent.joinpath(*parts))


def _include_flags():
    folders = [_torch_folder("include"),
               _torch_folder("include", "torch", "csrc", "api", "include")]
    for folder in _cuda_folders("include"):
        if os.path.exists(f"{folder}/cuda_runtime.h"):
            folders.append(folder)
            break
    return [f"-I{folder}" for folder in dict.fromkeys(folders)]


def _link_flags():
    folders = [_torch_folder("lib")]
    wanted = ["torch", "torch_cpu", "torch_cuda", "c10", "c10_cuda"]
    flags = [f"-l{name}" for name in wanted
             if any(os.path.exists(f"{folder}/lib{name}.so") for folder in folders)]
    runtime = [path for folder in _cuda_folders("lib*")
               for path in sorted(glob.glob(f"{folder}/libcudart.so*"))]
    same_major = [path for path in runtime
                  if f".so.{(torch.version.cuda or '0').split('.')[0]}" in path]
    return [*(f"-L{folder}" for folder in folders), "-Wl,--no-as-needed", *flags,
            *(same_major or runtime)[:1]]


def _compile_flags():
    abi = int(getattr(torch._C, "_GLIBCXX_USE_CXX11_ABI", True))
    return [*_FLAGS, f"-D_GLIBCXX_USE_CXX11_ABI={abi}", *_include_flags()]


def _first_error(log):
    for line in log.splitlines():
        if "error:" in line or "undefined reference" in line or "fatal" in line:
            return " ".join(line.split())
    return " ".join(log.split()[-40:]) or "no message"


def _limit_memory():
    resource.setrlimit(resource.RLIMIT_AS, (_COMPILER_BYTES, _COMPILER_BYTES))


def _compile(arguments, folder, doing, seconds):
    command = [compiler(), *arguments]
    try:
        ran = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, timeout=seconds,
                             stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             env={**os.environ, "LC_ALL": "C"}, preexec_fn=_limit_memory)
    except FileNotFoundError:
        raise BuildFailed(f"{doing}: no {compiler()} to compile it with; install g++ or set CXX"
                          ) from None
    except subprocess.TimeoutExpired:
        raise BuildFailed(f"{doing}: the compiler took longer than {seconds} s") from None
    if ran.returncode != 0:
        raise BuildFailed(f"{doing}: {_first_error(ran.stdout.decode(errors='replace'))}"[:600])


def _digest(*texts):
    total = hashlib.sha256()
    for text in texts:
        total.update(hashlib.sha256(text.encode()).digest())
    return total.hexdigest()


def _support_id():
    version = subprocess.run([compiler(), "--version"], capture_output=True, text=True).stdout
    own = capture_sources()
    return _digest(_MAIN, torch.__version__, version, *_compile_flags(), *_link_flags(),
                   *(own[name] for name in sorted(own)))


def _write(folder, files):
    for name, text in files.items():
        (folder / name).write_text(text)


@contextlib.contextmanager
def _locked(path):
    """Builders of one thing wait for each other."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def precompile(folder, seconds=300):
    """Leaves the header, compiled, in `folder`, and the objects in the cache."""
    folder = pathlib.Path(folder)
    _write(folder, capture_sources())
    _compile([*_compile_flags(), "-I.", "-x", "c++-header", "capture.h", "-o", "capture.h.gch"],
             folder, "compiling torch's headers", seconds)
    return _objects(_support_id(), folder, seconds)


def _objects(support, precompiled, seconds):
    folder = cache_folder() / support[:16]
    with _locked(folder / "lock"):
        if not all((folder / f"{name}.o").exists() for name in _OBJECTS):
            with tempfile.TemporaryDirectory() as work:
                _write(pathlib.Path(work), capture_sources())
                ahead = [f"-I{precompiled}"] if precompiled else []
                for name in _OBJECTS:
                    _compile([*_compile_flags(), *ahead, "-I.", "-c", name, "-o", f"{name}.o"], work,
                             f"compiling our {name}", seconds)
                    _install(pathlib.Path(work) / f"{name}.o", folder / f"{name}.o")
    return [str(folder / f"{name}.o") for name in _OBJECTS]


def _install(made, path):
    """There wholly or not at all."""
    with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as copy:
        copy.write(made.read_bytes())
    os.chmod(copy.name, 0o755)
    os.replace(copy.name, path)


def build(sources, precompiled=None, seconds=300):
    """The library's path. `sources`: the texts of driver.cpp and launch.inc."""
    support = _support_id()
    path = cache_folder() / support[:16] / (_digest(sources[DRIVER], sources[LAUNCH]) + ".so")
    with _locked(path.with_suffix(".lock")):
        if not path.exists():
            objects = _objects(support, precompiled, seconds)
            with tempfile.TemporaryDirectory() as work:
                _make_library(pathlib.Path(work), sources, objects, precompiled, seconds)
                _install(pathlib.Path(work) / "driver.so", path)
    return path


def _make_library(work, sources, objects, precompiled, seconds):
    own = capture_sources()
    if precompiled:
        own = {}  # or the plain header would be found first
    _write(work, {**own, DRIVER: sources[DRIVER], LAUNCH: sources[LAUNCH], "main.cc": _MAIN,
                  "cuda_model.cuh": ""})  # which only declares what we define
    ahead = [f"-I{precompiled}"] if precompiled else []
    _compile([*_compile_flags(), *ahead, "-I.", "-shared", "main.cc", *objects, *_link_flags(),
              "-o", "driver.so"], work, "compiling the driver", seconds)


def load(path):
    library = ctypes.CDLL(str(path))
    library.warpsmith_driver_run.restype = ctypes.c_char_p
    library.warpsmith_driver_run.argtypes = [ctypes.c_uint64, ctypes.c_int64,
                                             ctypes.POINTER(ctypes.c_void_p),
                                             ctypes.POINTER(ctypes.c_int64)]
    return library
