"""The oracle's memory in this process: descriptors mapped, and seen as tensors without a copy."""
import ctypes
import mmap

import torch

from warpsmith_peer.failures import UNAVAILABLE, Failure
from warpsmith_peer.ranges import covered


class HostMemory:
    """Descriptors are files in memory. For tests: no GPU is needed."""

    device = torch.device("cpu")

    def map(self, descriptor, size):
        return _HostMapping(descriptor, size)

    def synchronize(self):
        pass

    def release_cache(self):
        pass

    def traced(self, work):
        """(what `work` returns, busy time unknown)"""
        return work(), None


class _HostMapping:
    def __init__(self, descriptor, size):
        self._pages = mmap.mmap(descriptor, size)
        self.bytes = torch.frombuffer(self._pages, dtype=torch.uint8)

    def close(self):
        self.bytes = None  # the pages go with the last tensor that shows them


class _Location(ctypes.Structure):
    _fields_ = [("type", ctypes.c_int), ("id", ctypes.c_int)]


class _Access(ctypes.Structure):  # CUmemAccessDesc
    _fields_ = [("location", _Location), ("flags", ctypes.c_int)]


class CudaMemory:
    """Descriptors are physical memory exported by cuMemExportToShareableHandle."""

    device = torch.device("cuda", 0)

    def __init__(self):
        torch.cuda.init()
        torch.cuda.set_device(0)
        torch.empty(1, device="cuda")  # makes torch's primary context current
        self._driver = ctypes.CDLL("libcuda.so.1")

    def map(self, descriptor, size):
        return _CudaMapping(self, descriptor, size)

    def synchronize(self):
        torch.cuda.synchronize()

    def release_cache(self):
        torch.cuda.empty_cache()

    def traced(self, work):
        """(what `work` returns, microseconds in which the GPU was busy)"""
        activities = [torch.profiler.ProfilerActivity.CUDA]
        with torch.profiler.profile(activities=activities) as profile:
            result = work()
            torch.cuda.synchronize()
        ranges = [(event.time_range.start, event.time_range.end) for event in profile.events()
                  if event.device_type == torch.autograd.DeviceType.CUDA
                  and not getattr(event, "is_user_annotation", False)]
        return result, covered(ranges)

    def call(self, name, *arguments):
        status = getattr(self._driver, name)(*arguments)
        if status == 0:
            return
        raise Failure(UNAVAILABLE, f"{name}: {self._text('cuGetErrorName', status)} "
                      f"({self._text('cuGetErrorString', status)}): in the PyTorch process",
                      "check that both processes use the same GPU, and its driver")

    def _text(self, function, status):
        text = ctypes.c_char_p()
        getattr(self._driver, function)(status, ctypes.byref(text))
        return text.value.decode() if text.value else f"CUDA_ERROR_{status}"


_POSIX_DESCRIPTOR = 1  # CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR
_ON_DEVICE = 1  # CU_MEM_LOCATION_TYPE_DEVICE
_READ_WRITE = 3  # CU_MEM_ACCESS_FLAGS_PROT_READWRITE


class _CudaMapping:
    def __init__(self, memory, descriptor, size):
        self._memory = memory
        self._address = ctypes.c_uint64(0)
        self._size = ctypes.c_size_t(size)
        self._mapped = False
        try:
            self._map(descriptor)
            self.bytes = torch.as_tensor(_Bytes(self._address.value, size), device="cuda")
        except BaseException:
            self.close()
            raise
        if self.bytes.data_ptr() != self._address.value:
            self.close()
            raise Failure(UNAVAILABLE, "torch copied the shared memory instead of showing it",
                          "use torch 2.0 or newer")

    def _map(self, descriptor):
        call = self._memory.call
        call("cuMemAddressReserve", ctypes.byref(self._address), self._size, ctypes.c_size_t(0),
             ctypes.c_uint64(0), ctypes.c_uint64(0))
        handle = ctypes.c_uint64(0)
        call("cuMemImportFromShareableHandle", ctypes.byref(handle), ctypes.c_void_p(descriptor),
             _POSIX_DESCRIPTOR)
        try:
            call("cuMemMap", self._address, self._size, ctypes.c_size_t(0), handle,
                 ctypes.c_uint64(0))
            self._mapped = True
        finally:
            call("cuMemRelease", handle)  # the mapping keeps the memory
        access = _Access(_Location(_ON_DEVICE, torch.cuda.current_device()), _READ_WRITE)
        call("cuMemSetAccess", self._address, self._size, ctypes.byref(access), ctypes.c_size_t(1))

    def close(self):
        """No tensor that shows it may be used any more."""
        self.bytes = None
        torch.cuda.synchronize()
        if self._mapped:
            self._memory.call("cuMemUnmap", self._address, self._size)
            self._mapped = False
        if self._address.value:
            self._memory.call("cuMemAddressFree", self._address, self._size)
            self._address = ctypes.c_uint64(0)


class _Bytes:
    """Device memory as torch.as_tensor understands it."""

    def __init__(self, address, size):
        self.__cuda_array_interface__ = {
            "version": 2, "typestr": "|u1", "shape": (size,), "strides": None,
            "data": (address, False)}
