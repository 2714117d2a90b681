"""Messages between processes: the Python side of src/base/frame.h.

  u32 magic "WSF1" | u32 header bytes | u64 payload bytes | header | payload   (little endian)

Descriptors travel with the first byte (SCM_RIGHTS), at most 240.
"""
import array
import dataclasses
import json
import os
import socket
import struct

_PREAMBLE = struct.Struct("<4sIQ")
_MAGIC = b"WSF1"
_MAX_HEADER_BYTES = 64 << 20
_MAX_PAYLOAD_BYTES = 1 << 30
_MAX_DESCRIPTORS = 240
_CHUNK_BYTES = 4 << 20  # memory grows with what arrives, not with what is claimed


class FrameError(Exception):
    """The stream is broken, perhaps in the middle of a frame: end the conversation."""


class Closed(FrameError):
    """The other process closed between two frames."""


@dataclasses.dataclass
class Frame:
    header: bytes  # JSON text
    payload: bytes
    descriptors: list  # owned by the receiver

    def close(self):
        while self.descriptors:
            os.close(self.descriptors.pop())


class FrameSocket:
    def __init__(self, number):
        os.set_inheritable(number, False)  # torch.compile starts processes of its own
        self._socket = socket.socket(fileno=number)
        self._socket.setblocking(True)

    def send(self, header, payload=b"", descriptors=()):
        text = json.dumps(header).encode()
        start = _PREAMBLE.pack(_MAGIC, len(text), len(payload)) + text
        if descriptors:
            rights = array.array("i", descriptors).tobytes()
            sent = self._socket.sendmsg([start], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, rights)])
            start = start[sent:]
        self._socket.sendall(start)
        self._socket.sendall(payload)

    def receive(self):
        """Waits as long as it takes: the process that started us ends us when it ends."""
        frame = Frame(b"", b"", [])
        try:
            preamble = self._first(frame.descriptors)
            magic, header_bytes, payload_bytes = _PREAMBLE.unpack(preamble)
            if magic != _MAGIC:
                raise FrameError("bad magic")
            if header_bytes > _MAX_HEADER_BYTES:
                raise FrameError("header over the limit")
            if payload_bytes > _MAX_PAYLOAD_BYTES:
                raise FrameError("payload over the limit")
            frame.header = self._rest(header_bytes)
            frame.payload = self._rest(payload_bytes)
            return frame
        except OSError as error:
            frame.close()
            raise FrameError(f"receiving: {error}") from error
        except BaseException:
            frame.close()
            raise

    def _first(self, descriptors):
        """The preamble; only its first bytes bring descriptors."""
        room = socket.CMSG_SPACE(_MAX_DESCRIPTORS * array.array("i").itemsize)
        data, ancillary, flags, _ = self._socket.recvmsg(
            _PREAMBLE.size, room, socket.MSG_CMSG_CLOEXEC)
        for level, kind, rights in ancillary:
            if level == socket.SOL_SOCKET and kind == socket.SCM_RIGHTS:
                numbers = array.array("i")
                numbers.frombytes(rights[:len(rights) - len(rights) % numbers.itemsize])
                descriptors.extend(numbers)
        if flags & socket.MSG_CTRUNC:
            raise FrameError("too many descriptors")
        if not data:
            raise Closed("the process has closed")
        return data + self._rest(_PREAMBLE.size - len(data))

    def _rest(self, size):
        received = bytearray()
        while len(received) < size:
            chunk = self._socket.recv(min(size - len(received), _CHUNK_BYTES))
            if not chunk:
                raise FrameError("it ended in the middle")
            received += chunk
        return bytes(received)
