"""One call at a time, released by the oracle through a page of memory (judge/burst_page.h).

  u32[0] magic   [1] released: number of the call, from 1   [2] done: its number
  u32[3] R       [4 .. 4+R) slot of each tensor of the task in this call
"""
import gc
import mmap

from warpsmith_peer.failures import BAD_INPUT, Failure

PAGE_BYTES = 4096
MAGIC = 0x57534250
ABORT = 0xFFFFFFFF
_MAGIC_AT, _RELEASED_AT, _DONE_AT, _ROLES_AT, _SLOTS_AT = range(5)


class BurstPage:
    def __init__(self, descriptor, roles):
        self._pages = mmap.mmap(descriptor, PAGE_BYTES)
        self._words = memoryview(self._pages).cast("I")
        self._slots = slice(_SLOTS_AT, _SLOTS_AT + roles)
        if self._words[_MAGIC_AT] != MAGIC or self._words[_ROLES_AT] != roles:
            raise Failure(BAD_INPUT, f"burst: not a page for {roles} tensors")

    def await_release(self, number):
        """The slots of call `number`, or None when the oracle gives up. Spins: waking up takes
        longer than many a kernel."""
        words = self._words
        while True:
            released = words[_RELEASED_AT]
            if released == number:
                return words[self._slots].tolist()
            if released == ABORT:
                return None

    def announce(self, number):
        self._words[_DONE_AT] = number


class Keeper:
    """Results of timed calls, until they can be copied into the output slots off the clock.

    Keeping them all needs memory that the allocator holds before the clock starts; where that is
    not to be had, each is copied right after its call was announced.
    """

    def __init__(self, binding, calls, memory):
        self._binding, self._memory = binding, memory
        self._kept = {}
        slots = max((len(r.slots) for r in binding.regions if r.role == "output"), default=1)
        self._at_once = not self._reserve(min(calls, slots) + 1)

    def _reserve(self, count):
        free = self._memory.free_bytes()
        if free is None:
            return True
        if count * self._binding.output_bytes() > free // 2:
            return False
        held = [region.slots[0].new_empty(region.extents) for region in self._binding.regions
                if region.role == "output" for _ in range(count)]
        del held  # stays in the allocator
        return True

    def keep(self, slots, result):
        if self._at_once:
            self._store(slots, result)
            self._memory.synchronize()
        else:
            self._kept[self._binding.output_slots(slots)] = (slots, result)
        self._binding.restore(slots)

    def _store(self, slots, result):
        self._binding.check(result)
        self._binding.store(result, slots)

    def finish(self):
        for slots, result in self._kept.values():
            self._store(slots, result)
        self._kept.clear()
        self._memory.synchronize()


def warm_up(binding, slots_of_calls, memory):
    binding.rebind()
    for slots in slots_of_calls:
        result = binding.call(slots)
        binding.check(result)
        binding.store(result, slots)
        binding.restore(slots)
        del result
    memory.synchronize()


def run_burst(binding, calls, page, memory):
    """Returns how many calls were made: fewer than `calls` when the oracle gave up."""
    keeper = Keeper(binding, calls, memory)
    memory.synchronize()
    gc.collect()
    gc.disable()
    try:
        for number in range(1, calls + 1):
            slots = page.await_release(number)
            if slots is None:
                return number - 1
            result = binding.call(slots)
            memory.synchronize()
            page.announce(number)
            keeper.keep(slots, result)
            del result
    finally:
        gc.enable()
    keeper.finish()
    return calls


def run_empty_burst(binding, calls, page, memory):
    """What a burst costs by itself: the handshake, finding the tensors (of `binding`, if a callee
    has been loaded), and a synchronisation."""
    if binding is not None:
        binding.rebind()
    for number in range(1, calls + 1):
        slots = page.await_release(number)
        if slots is None:
            return number - 1
        if binding is not None:
            binding.bind(slots)
        memory.synchronize()
        page.announce(number)
    return calls
