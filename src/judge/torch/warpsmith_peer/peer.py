"""The commands of the peer protocol. One process serves one oracle, and one arena at a time."""
import gc
import json
import os
import sys
import traceback

from warpsmith_peer.failures import BAD_INPUT, INTERNAL, IO, UNAVAILABLE, VERSION, Failure
from warpsmith_peer.failures import one_line
from warpsmith_peer.frames import Closed, FrameError, FrameSocket

WIRE_VERSION = 1


class Peer:
    def __init__(self, host_memory):
        self._host_memory = host_memory
        self._memory = self._arena = self._subject = None
        self._callees = {}
        self.lost = False  # this process can do nothing more
        self._commands = {"start": self._start, "arena": self._map_arena, "load": self._load,
                          "check": self._check, "burst": self._burst, "expect": self._expect,
                          "draw": self._draw}

    def answer(self, frame):
        """The reply to one command: never an exception, whatever the command or the user's code."""
        try:
            command = self._parsed(frame.header)
            fields = self._commands[command["command"]](command, frame)
            return {"version": WIRE_VERSION, **fields}
        except Failure as failure:
            error = failure
        except (KeyError, TypeError, IndexError) as problem:
            traceback.print_exc()
            error = Failure(BAD_INPUT, f"a command that does not fit: {one_line(problem)}")
        except (Exception, SystemExit) as problem:
            traceback.print_exc()
            error = Failure(INTERNAL, f"the PyTorch process: {one_line(problem)}")
        self.lost = not self._device_answers()
        return {"version": WIRE_VERSION, "error": error.fields()}

    def _device_answers(self):
        """An illegal address or a device-side assert ends a CUDA context for good."""
        try:
            if self._memory is not None:
                self._memory.synchronize()
            return True
        except Exception:
            return False

    def _parsed(self, header):
        try:
            command = json.loads(header)
        except ValueError as problem:
            raise Failure(BAD_INPUT, f"a command that is not JSON: {problem}") from None
        if not isinstance(command, dict) or not isinstance(command.get("command"), str):
            raise Failure(BAD_INPUT, "a command without a name")
        if command.get("version") != WIRE_VERSION:
            raise Failure(VERSION, f"a command of wire version {command.get('version')}; this "
                          f"PyTorch process speaks {WIRE_VERSION}")
        if command["command"] not in self._commands:
            raise Failure(BAD_INPUT, f"no command \"{command['command']}\" in this process")
        if self._memory is None and command["command"] != "start":
            raise Failure(BAD_INPUT, f"{command['command']} before start")
        return command

    def _start(self, command, frame):
        """Sets no sandbox: the file is the task's own, and candidates never come here."""
        if command.get("device_uuid"):
            os.environ["CUDA_VISIBLE_DEVICES"] = command["device_uuid"]
        try:
            import torch
            from warpsmith_peer.memory import CudaMemory, HostMemory
        except Exception as problem:  # a broken installation raises more than ImportError
            raise Failure(UNAVAILABLE, f"{sys.executable} cannot import torch: "
                          f"{one_line(problem)}",
                          "install torch, or set WARPSMITH_PYTHON to a Python that has it") from None
        if self._host_memory:
            self._memory = HostMemory()
        elif not torch.cuda.is_available():
            raise Failure(UNAVAILABLE, f"torch {torch.__version__} finds no CUDA device",
                          "install a torch that was built for this driver's CUDA")
        else:
            self._memory = CudaMemory()
        return {"text": f"torch {torch.__version__}", "sandbox": "L0"}

    def _map_arena(self, command, frame):
        from warpsmith_peer.arena import Arena
        self._subject = None
        self._callees = {}
        if self._arena is not None:
            self._arena.close()
            self._arena = None
        self._arena = Arena(command, frame.descriptors, self._memory)
        return {}

    def _needed_subject(self):
        from warpsmith_peer.subject import load_subject
        if self._arena is None:
            raise Failure(BAD_INPUT, "a command that needs an arena came before it")
        if self._subject is None:
            self._subject = load_subject(self._arena, self._memory.device)
            gc.collect()
            gc.freeze()  # what torch made so far need not be looked through after each answer
        return self._subject

    def _load(self, command, frame):
        from warpsmith_peer.baseline import Callee
        name = command["callee"]
        if name not in ("eager", "compile"):
            raise Failure(BAD_INPUT, f"no callee \"{name}\" in a PyTorch process")
        subject = self._needed_subject()
        self._callees[name] = Callee(name, subject, self._arena)
        self._memory.synchronize()
        return {"text": self._callees[name].text()}

    def _loaded(self, command):
        if command["callee"] not in self._callees:
            raise Failure(BAD_INPUT, f"callee \"{command['callee']}\" has not been loaded")
        return self._callees[command["callee"]]

    def _check(self, command, frame):
        import torch
        from warpsmith_peer.burst import warm_up
        callee = self._loaded(command)
        with torch.no_grad(), callee.subject.running(f"running the {callee.name} baseline"):
            warm_up(callee.exact, [0] * callee.exact.roles, self._memory)
        return {}

    def _burst(self, command, frame):
        import torch
        from warpsmith_peer import burst
        calls = command["calls"]
        page = burst.BurstPage(frame.descriptors[0], len(self._arena.task["tensors"]))
        if command["callee"] == "null":
            binding = next((callee.slots for callee in self._callees.values()), None)
            with torch.no_grad():
                burst.run_null_burst(binding, calls, page, self._memory)
            return {"calls": calls}
        callee = self._loaded(command)
        if callee.slots is None:
            raise Failure(BAD_INPUT, "burst: the arena has no slots")
        with torch.no_grad(), callee.subject.running(f"running the {callee.name} baseline"):
            if not command.get("trace"):
                burst.run_burst(callee.slots, calls, page, self._memory)
                return {"calls": calls}
            busy_us = burst.run_traced_burst(callee.slots, calls, page, self._memory)
        return {"calls": calls, **({} if busy_us is None else {"gpu_busy_us": busy_us})}

    def _has_driver(self):
        return self._arena is not None and self._arena.task["reference"]["kind"] == "driver"

    def _expect(self, command, frame):
        from warpsmith_peer.expected import compute_expected
        if self._has_driver():
            raise Failure(BAD_INPUT, "a driver knows what to expect only of inputs that it drew",
                          "give the task's inputs the generator \"reference\"")
        return compute_expected(self._needed_subject(), self._arena, self._memory)

    def _draw(self, command, frame):
        from warpsmith_peer.expected import compute_expected, draw_inputs
        if self._has_driver():
            from warpsmith_driver import subject as driver
            return driver.draw(self._arena, command["seed"], self._memory)
        subject = self._needed_subject()
        draw_inputs(subject, self._arena, command["seed"])
        return compute_expected(subject, self._arena, self._memory)


def import_early():
    """Takes seconds, and nothing that comes with the first command. No device is opened by it."""
    try:
        import torch  # noqa: F401
    except Exception:  # told when the first command comes
        pass


def main(arguments):
    """Serves until the other end closes. Returns the exit status."""
    import_early()
    frames = FrameSocket(int(arguments[-1]))
    peer = Peer(host_memory="--host-memory" in arguments)
    try:
        while True:
            frame = frames.receive()
            try:
                reply = peer.answer(frame)
            finally:
                frame.close()
            frames.send(reply)
            if peer.lost:
                return IO
    except Closed:
        return 0
    except (FrameError, OSError) as problem:
        print(f"warpsmith's PyTorch process: {problem}", file=sys.stderr)
        return IO
