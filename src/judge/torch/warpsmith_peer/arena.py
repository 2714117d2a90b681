"""The tensors of one workload: every slot of every region, as a torch tensor."""
import math

import torch

from warpsmith_peer.failures import BAD_INPUT, Failure

DTYPES = {"f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32,
          "f64": torch.float64, "i8": torch.int8, "i32": torch.int32, "i64": torch.int64,
          "bool": torch.bool}


def dtype_name(dtype):
    for name, known in DTYPES.items():
        if known == dtype:
            return name
    return str(dtype).removeprefix("torch.")


class Region:
    """`slots[s]` is the tensor in slot s."""

    def __init__(self, fields, mapping):
        self.name = fields["tensor"]
        self.role = fields["role"]
        self.dtype = DTYPES[fields["dtype"]]
        self.extents = tuple(fields["extents"])
        size = math.prod(self.extents) * self.dtype.itemsize
        if size != fields["bytes"]:
            raise Failure(BAD_INPUT, f"arena: {self.name}: {size} bytes of extents and dtype, "
                          f"{fields['bytes']} said")
        self.slots = []
        for slot in range(fields["slots"]):
            begin = fields["offset_bytes"] + slot * fields["stride_bytes"]
            if begin < 0 or begin + size > mapping.bytes.numel():
                raise Failure(BAD_INPUT, f"arena: {self.name}: slot {slot} is not in the mapping")
            self.slots.append(mapping.bytes[begin:begin + size].view(self.dtype)
                              .view(self.extents))


class Arena:
    """`regions` (empty for a pure reference process) and `exact`, in the order of task.tensors."""

    def __init__(self, command, descriptors, memory):
        self.task = command["task"]
        self.sizes = command["workload"]["sizes"]
        described = [*command["regions"], *command["exact"]]
        if len(described) != len(descriptors):
            raise Failure(BAD_INPUT, f"arena: {len(described)} regions, "
                          f"{len(descriptors)} descriptors")
        self._mappings = []
        try:
            regions = []
            for fields, descriptor in zip(described, descriptors):
                self._mappings.append(memory.map(descriptor, fields["mapped_bytes"]))
                regions.append(Region(fields, self._mappings[-1]))
            self.regions = regions[:len(command["regions"])]
            self.exact = regions[len(command["regions"]):]
            self._check_names()
        except BaseException:
            regions = None
            self.close()
            raise

    def _check_names(self):
        wanted = [tensor["name"] for tensor in self.task["tensors"]]
        for regions in filter(None, (self.regions, self.exact)):
            if [region.name for region in regions] != wanted:
                raise Failure(BAD_INPUT, "arena: the regions are not the task's tensors in order")

    @property
    def input_names(self):
        return [t["name"] for t in self.task["tensors"] if t["role"] == "input"]

    def exact_of(self, role):
        return [region for region in self.exact if region.role == role]

    def close(self):
        self.regions = self.exact = ()
        while self._mappings:
            self._mappings.pop().close()
