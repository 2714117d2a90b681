"""Runs a split's parts, one after another: parts_process.py FOLDER SOCKET.

What a model wrote runs here and nowhere else (src/agent/split/composition.h), so this process is believed in
nothing but the numbers that it gives: compose.py has the whole's reference, and decides.

FOLDER/parts.json says what there is. Then each message is a drawing of the whole's inputs, and its
reply what the parts make of it. A reply with a "problem" says why there are none.
"""
import json
import os
import sys

from joined_run import receive_tensor, run, send_tensor
from reference_rules import check_reference
from warpsmith_peer.failures import BAD_INPUT, Failure, one_line
from warpsmith_peer.frames import Closed, FrameSocket


def _checked(request):
    for part in request["parts"]:
        for path, text in part["task"]["reference"]["sources"].items():
            check_reference(part["name"] + "/" + path, text)


def _outputs(request, fields, values):
    for part in request["parts"]:
        try:
            run(part["task"], part["values"], fields["tensors"], fields["sizes"], values,
                fields["exact"])
        except Failure as failure:
            raise Failure(failure.code, f"{part['name']}: {failure.message}",
                          failure.fix) from None
    return values


def _explained(work):
    """(what `work` returns, None), or (None, the words for why not)."""
    try:
        return work(), None
    except Failure as failure:
        return None, {"problem": failure.message, "fix": failure.fix}
    except MemoryError:
        return None, {"problem": "there is not enough memory for what the parts ask for", "fix": ""}
    except Exception as problem:
        return None, {"problem": one_line(problem), "fix": "correct the parts"}


def _drawing(connection, request, frame):
    fields = json.loads(frame.header)
    values = {name: receive_tensor(connection, fields["tensors"][name], False)
              for name in request["inputs"]}
    outputs, problem = _explained(lambda: _outputs(request, fields, values))
    connection.send(problem or {})
    for name in fields["outputs"] if problem is None else ():
        send_tensor(connection, outputs[name])


def main(folder, socket_number):
    connection = FrameSocket(int(socket_number))
    connection.send({"confined": os.environ.get("WARPSMITH_CONFINED", "")})
    with open(os.path.join(folder, "parts.json"), encoding="utf-8") as file:
        request = json.load(file)
    _, problem = _explained(lambda: _checked(request) if request["strict"] else None)
    connection.send(problem or {})
    while True:
        try:
            frame = connection.receive()
        except Closed:
            return
        _drawing(connection, request, frame)


main(*sys.argv[1:3])
