"""One call at a time, released by the oracle through a page of memory (judge/burst_page.h).

  u32[0] magic   [1] released: number of the call, from 1   [2] done: its number
  u32[3] R       [4 .. 4+R) slot of each tensor of the task in this call

PyTorch returns new tensors, so a call's result is copied into its slot before the call is announced:
the oracle may look at once. The copy is no part of what a user would pay. So the callee "null" makes
it too, of a tensor like a result: what the oracle takes off a baseline's time is the hand-over,
finding the tensors, and the copy.
"""
import gc
import mmap

from warpsmith_peer.failures import BAD_INPUT, Failure

PAGE_BYTES = 4096
MAGIC = 0x57534250
_MAGIC_AT, _RELEASED_AT, _DONE_AT, _ROLES_AT, _SLOTS_AT = range(5)


class BurstPage:
    def __init__(self, descriptor, roles):
        self._pages = mmap.mmap(descriptor, PAGE_BYTES)
        self._words = memoryview(self._pages).cast("I")
        self._slots = slice(_SLOTS_AT, _SLOTS_AT + roles)
        if self._words[_MAGIC_AT] != MAGIC or self._words[_ROLES_AT] != roles:
            raise Failure(BAD_INPUT, f"burst: not a page for {roles} tensors")

    def await_release(self, number):
        """The slots of call `number`. Spins: waking up takes longer than many a kernel."""
        words = self._words
        while words[_RELEASED_AT] != number:
            pass
        return words[self._slots].tolist()

    def announce(self, number):
        self._words[_DONE_AT] = number


def warm_up(binding, slots, memory):
    """One call, checked, that nobody times."""
    binding.rebind()
    result = binding.call(slots)
    binding.check(result)
    binding.store(result, slots)
    memory.synchronize()


def run_burst(binding, calls, page, memory):
    def call(slots):
        binding.store(binding.call(slots), slots)

    binding.rebind()
    _run(call, calls, page, memory)


def run_null_burst(binding, calls, page, memory):
    """What a burst costs by itself; with no binding (nothing is loaded), the handshake alone."""
    if binding is None:
        _run(lambda slots: None, calls, page, memory)
        return
    stand_ins = binding.stand_ins()

    def call(slots):
        binding.bind(slots)
        binding.store(stand_ins, slots)

    binding.rebind()
    _run(call, calls, page, memory)


def run_traced_burst(binding, calls, page, memory):
    """Microseconds a call in which the GPU was busy with the task's code; None where the memory is
    no GPU's. Tracing slows the process for good."""
    _, busy_us = memory.traced(lambda: run_burst(binding, calls, page, memory))
    if busy_us is None:
        return None
    copies = 20
    stand_ins, slots = binding.stand_ins(), [0] * binding.roles

    def copy():
        for _ in range(copies):
            binding.bind(slots)
            binding.store(stand_ins, slots)

    _, copy_us = memory.traced(copy)
    return max(busy_us / calls - copy_us / copies, 0)


def _run(call, calls, page, memory):
    gc.disable()
    try:
        for number in range(1, calls + 1):
            call(page.await_release(number))
            memory.synchronize()
            page.announce(number)
    finally:
        gc.enable()
