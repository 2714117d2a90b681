"""A user's checkout of a foreign task set: which one it is, its problems, and their sizes' name."""
import dataclasses
import errno
import hashlib
import os
import pathlib
import re
import stat
import subprocess

from warpsmith_peer.failures import BAD_INPUT, IO, Failure

USAGE, NO_INPUT = 2, 66  # exit statuses of src/base/error.cc
MODULES, DRIVERS = "KernelBench", "KernelBench-CUDA"  # level1/19_ReLU.py; level1/019_ReLU/driver.cpp

_MOST_BYTES = 4 << 20  # of one file
_BLANKS = " \t\n\v\f\r"


@dataclasses.dataclass(frozen=True, order=True)
class Problem:
    level: int
    number: int
    name: str  # "19_ReLU": the file's or folder's, without ".py" and a last "_"
    path: pathlib.Path = dataclasses.field(compare=False)

    @property
    def id(self):
        return f"level{self.level}/{self.name}"

    def is_picked_by(self, pattern):
        """"level1", "level1/19" and "level1/19_ReLU" all pick 19_ReLU (and 019_ReLU)."""
        if pattern in (f"level{self.level}", self.id):
            return True
        level, _, rest = pattern.partition("/")
        number, name = _number(rest)
        return (level == f"level{self.level}" and number == self.number
                and name in ("", _number(self.name)[1]))


@dataclasses.dataclass(frozen=True)
class Checkout:
    kind: str
    problems: list  # by level and number


def read_regular(path):
    """Bytes of a regular file; none is waited for, and none read without a limit."""
    try:
        with open(path, "rb", opener=lambda p, flags: os.open(p, flags | os.O_NONBLOCK)) as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                raise Failure(BAD_INPUT, f"reading {path}: no regular file")
            data = file.read(_MOST_BYTES + 1)
    except IsADirectoryError:
        raise Failure(NO_INPUT, f"reading {path}: it is a folder") from None
    except (FileNotFoundError, PermissionError, NotADirectoryError) as error:
        raise Failure(NO_INPUT, f"reading {path}: {error.strerror}") from None
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.ENXIO):
            raise Failure(BAD_INPUT, f"reading {path}: no regular file") from None
        raise Failure(IO, f"reading {path}: {error.strerror}") from None
    if len(data) > _MOST_BYTES:
        raise Failure(BAD_INPUT, f"reading {path}: more than {_MOST_BYTES} bytes")
    return data


def _number(text):
    """(the number that a text begins with, what follows)"""
    digits = re.match(r"[0-9]*", text)[0]
    number = int(digits) if digits and len(digits) < 19 else None
    return (number, text[len(digits):]) if number is not None and number < 1 << 31 else (None, text)


def _entries(folder):
    try:
        return sorted(pathlib.Path(folder).iterdir(), key=os.fsencode)
    except OSError:
        return []


def _kind(path):
    return MODULES if path.suffix == ".py" else DRIVERS


def _is_typical(path):
    """What only a set of this kind holds."""
    if _kind(path) == DRIVERS:
        return (path / "driver.cpp").exists()
    try:
        return b"get_inputs" in read_regular(path)
    except Failure:
        return False


def _named(root):
    """Whatever is named like a problem and is a folder or a Python file."""
    for folder in _entries(root):
        level, rest = _number(folder.name.removeprefix("level"))
        if not folder.name.startswith("level") or level is None or rest:
            continue
        for path in _entries(folder):
            stem = path.stem if path.suffix == ".py" else path.name
            number, rest = _number(stem)
            if number is not None and rest.startswith("_") and (
                    path.suffix == ".py" or path.is_dir()):
                name = os.fsencode(stem.rstrip("_")).decode(errors="replace")
                yield Problem(level, number, name, path)


def _read(root):
    """Problems of one kind; the first that is typical of one says which. The others of that kind
    are problems too, so that one that lacks its driver, say, is refused in words and not passed
    over."""
    named = list(_named(root))
    kind = next((_kind(problem.path) for problem in named if _is_typical(problem.path)), None)
    return Checkout(kind, sorted(problem for problem in named if _kind(problem.path) == kind))


def open_checkout(path):
    """`path`: the checkout, or a folder of it. What it is shows in what it holds, not in its name."""
    if not os.path.isdir(path):
        raise Failure(NO_INPUT, f"{path}: no such folder",
                      "give the folder of a KernelBench or KernelBench-CUDA checkout")
    for inside in ("", "KernelBench", "data/kernelbench-cuda", "kernelbench-cuda"):
        checkout = _read(os.path.join(path, inside))
        if checkout.problems:
            return checkout
    raise Failure(BAD_INPUT, f"{path}: no task set that is known: no level1/19_ReLU.py with "
                  "get_inputs() (KernelBench), no level1/019_ReLU/driver.cpp (KernelBench-CUDA)",
                  "give the folder that holds level1, level2, ...")


def _is_assignment(line):
    others = ("def ", "class ", "import ", "from ", "if ", "for ", "@", '"', "'")
    return not line.startswith(others) and "=" in line


def size_text(problem):
    """What a problem's text says of its sizes: the assignments at its left margin, and the bodies
    of get_inputs() and get_init_inputs(); without comments, blanks and blank lines."""
    kept, counts = [], False  # counts: the statement that began at the margin, with further lines
    for line in problem.split("\n"):
        bare = "".join(c for c in line.partition("#")[0] if c not in _BLANKS)
        if not bare:
            continue
        if line[0] not in _BLANKS and bare[0] not in ")]}":
            defines = line.startswith(("def get_inputs(", "def get_init_inputs("))
            counts = defines or _is_assignment(line)
        if counts:
            kept.append(bare + "\n")
    return "".join(kept)


def size_tag(checkout):
    """Eight hexadecimal digits over size_text() of all problems in levels 1 and 2 (in any where
    there are none): checkouts of one size set have one tag, however their modules compute."""
    texts = [(problem.level, f"{problem.id}\n".encode()
              + size_text(read_regular(problem.path).decode("latin-1")).encode("latin-1"))
             for problem in checkout.problems]
    early = b"".join(text for level, text in texts if level in (1, 2))
    return hashlib.sha256(early or b"".join(text for _, text in texts)).hexdigest()[:8]


def git_tag(checkout):
    """A tag on the checkout's very commit, if git knows one."""
    try:
        ran = subprocess.run(["git", "-C", checkout, "describe", "--tags", "--exact-match"],
                             stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL, timeout=60)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    tag = ran.stdout.decode("latin-1").partition("\n")[0] if ran.returncode == 0 else ""
    return re.sub(r"[^A-Za-z0-9._-]", "-", tag)


def check_set_name(name):
    if not re.fullmatch(r"[A-Za-z0-9._-]*", name):
        raise Failure(USAGE, f"--set {name}: no name for a folder",
                      "use letters, digits, '.', '-' and '_'")
