"""Foreign code runs in forked processes with limits; what comes back is JSON, and not believed."""
import collections
import ctypes
import json
import os
import select
import shutil
import signal
import tempfile
import time

_PR_SET_PDEATHSIG = 1
_TICK_MS = 20
_MOST_ANSWER, _MOST_OUTPUT = 64 << 20, 64 << 10  # bytes; of the output the last are kept

# Descriptors of this process that no child may keep: with them it could answer for another.
private = set()

# What a generator of run_all() yields. `own_group`: the work starts processes that end with it.
Work = collections.namedtuple("Work", "call seconds own_group")
# `answer`: None where there is none.
Outcome = collections.namedtuple("Outcome", "answer timed_out signal status last_line")


def _answer_of(call):
    try:
        return call()
    except Exception as problem:
        return {"error": " ".join(str(problem).split()) or type(problem).__name__}


def _serve(work, answer, errors, folder):
    """Never returns: the fork must not run its parent's code."""
    try:
        if work.own_group:
            os.setpgid(0, 0)
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        for descriptor in private:
            os.close(descriptor)
        private.clear()
        private.add(answer)
        silence = os.open(os.devnull, os.O_RDWR)
        for ours, theirs in ((silence, 0), (silence, 1), (errors, 2)):
            os.dup2(ours, theirs)
        os.environ["TMPDIR"] = tempfile.tempdir = folder
        text = json.dumps(_answer_of(work.call)).encode()
        while text:
            text = text[os.write(answer, text):]
    finally:
        os._exit(0)  # whatever the work left behind is not run


class Stopped(Exception):
    """Whoever started us wants no more."""


class _Child:
    def __init__(self, work):
        self._work, self._deadline = work, time.monotonic() + work.seconds
        self._folder = tempfile.mkdtemp()
        self._answer, answer = os.pipe()
        self._errors, errors = os.pipe()
        private.update((self._answer, self._errors))
        self._pid = os.fork()
        if self._pid == 0:
            _serve(work, answer, errors, self._folder)
        os.close(answer)
        os.close(errors)
        self._said = {self._answer: bytearray(), self._errors: bytearray()}
        self.open = set(self._said)
        for descriptor in self.open:
            os.set_blocking(descriptor, False)

    def _drain(self):
        for descriptor in tuple(self.open):
            said = self._said[descriptor]
            try:
                while chunk := os.read(descriptor, 1 << 16):
                    said += chunk
                    if descriptor == self._errors:
                        del said[:-_MOST_OUTPUT]
                    elif len(said) > _MOST_ANSWER:
                        break
                self.open.discard(descriptor)
            except BlockingIOError:
                pass

    def finished(self):
        """The outcome, once there is one."""
        self._drain()
        exited = os.waitid(os.P_PID, self._pid, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        if exited is None and time.monotonic() < self._deadline:
            return None
        status = self.end()
        self._drain()
        for descriptor in self._said:
            private.discard(descriptor)
            os.close(descriptor)
        lines = self._said[self._errors].decode(errors="replace").strip().splitlines()
        return Outcome(self._told(), exited is None, -min(status, 0), status,
                       lines[-1] if lines else "")

    def _told(self):
        try:
            value = json.loads(self._said[self._answer])
            # Half a surrogate pair is no text that anything else could read.
            return json.loads(json.dumps(value, ensure_ascii=False).encode(errors="replace"))
        except (ValueError, RecursionError):
            return None

    def end(self):
        """Its exit status, or minus a signal; its leftover children end, too."""
        try:
            (os.killpg if self._work.own_group else os.kill)(self._pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        status = os.waitstatus_to_exitcode(os.waitpid(self._pid, 0)[1])
        shutil.rmtree(self._folder, ignore_errors=True)
        return status


def _start(generator, value, running):
    try:
        running[_Child(generator.send(value))] = generator
    except StopIteration:
        pass


def run_all(generators, jobs, is_stopped=None):
    """Carries out what the generators yield, for `jobs` of them at a time; each gets the Outcome
    back. An exception of one ends all; Stopped is raised once `is_stopped`."""
    waiting, running = collections.deque(generators), {}
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                _start(waiting.popleft(), None, running)
            poll = select.poll()
            for child in running:
                for descriptor in child.open:
                    poll.register(descriptor, select.POLLIN)
            poll.poll(_TICK_MS)
            if is_stopped and is_stopped():
                raise Stopped
            for child in tuple(running):
                if (outcome := child.finished()) is not None:
                    _start(running.pop(child), outcome, running)
    finally:
        for child in running:
            child.end()
