"""Errors as replies: a code of src/base/error.h, one clear line, and what to do next."""
import contextlib
import sys
import traceback

# Exit statuses of src/base/error.cc.
BAD_INPUT = 65
UNAVAILABLE = 69
INTERNAL = 70
IO = 74
VERSION = 76

_MOST_CHARACTERS = 1000


class Failure(Exception):
    def __init__(self, code, message, fix=""):
        super().__init__(message)
        self.code = code
        self.message = message
        self.fix = fix

    def fields(self):
        return {"code": self.code, "message": self.message[:_MOST_CHARACTERS], "fix": self.fix}


def one_line(error):
    """torch's messages go on for paragraphs; the first line says what happened."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__


def out_of_memory(error):
    return isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError"


def _place(error, files):
    """'FILE:LINE: ' of the user's own line nearest to the error, if any."""
    if isinstance(error, SyntaxError) and error.filename in files:
        return f"{error.filename}:{error.lineno}: "
    own = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename in files]
    return f"{own[-1].filename}:{own[-1].lineno}: " if own else ""


def _fix(error):
    if out_of_memory(error):
        return "take smaller sizes, or a GPU with more free memory"
    if isinstance(error, SyntaxError):
        return "correct that line"
    if isinstance(error, ImportError):
        return f"install it for {sys.executable}, or do without that import"
    if "CUDA error" in str(error):
        return "the process's GPU context may be lost: check indexes and sizes, then start again"
    return "correct the reference file, or the task's tensors that it is called with"


def of_user_code(doing, error, files):
    """`files`: the paths of the user's own sources."""
    if isinstance(error, Failure):
        return error
    if isinstance(error, SyntaxError):
        what = f"SyntaxError: {error.msg}"
    else:
        what = one_line(error)
    return Failure(BAD_INPUT, f"{_place(error, files)}{doing}: {what}", _fix(error))


@contextlib.contextmanager
def user_code(doing, files):
    """What the user's code raises, sys.exit() included, becomes a Failure; the process goes on."""
    try:
        yield
    except Failure:
        raise
    except (Exception, SystemExit) as error:
        traceback.print_exc()
        raise of_user_code(doing, error, files) from None
