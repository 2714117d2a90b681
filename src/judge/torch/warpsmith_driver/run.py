"""One run of a driver's library."""
import ctypes
import json


def run(library, seed, tensors=()):
    """What the driver told (capture/run_record.h). `tensors`: where the launch's tensors and the
    expected outputs are to be written, in the launch's order; none: only the description."""
    count = len(tensors)
    places = (ctypes.c_void_p * count)(*(tensor.data_ptr() for tensor in tensors))
    sizes = (ctypes.c_int64 * count)(*(tensor.numel() * tensor.element_size()
                                       for tensor in tensors))
    seed %= 1 << 63  # torch takes signed seeds
    return json.loads(library.warpsmith_driver_run(seed, count, places, sizes))
