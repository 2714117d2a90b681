"""An imported problem as the fields of its task.toml."""
import re

from warpsmith_peer.failures import BAD_INPUT, Failure

from warpsmith_import.launch import LAUNCH

MOST_TENSORS = 120  # more the judge does not take: half of a frame's descriptors (src/base/frame.h)

_EQUAL = 0.5  # a bound below 1 is equality for whole numbers; a task cannot have none
_KEYWORDS = frozenset("""alignas alignof and asm auto bool break case catch char class const continue
    default delete do double else enum export extern false float for friend goto if inline int long
    mutable namespace new not operator or private protected public register return short signed
    sizeof static struct switch template this throw true try typedef typeid typename union unsigned
    using virtual void volatile while xor tensors""".split())


def identifier(name):
    """A name that C++ takes, made from any."""
    plain = "".join("_" * len(c.encode(errors="replace")) if re.match(r"[^A-Za-z0-9_]", c) else c
                    for c in name)
    return "param_" + plain if re.match(r"\Z|[0-9]", plain) or plain in _KEYWORDS else plain


def number_text(number):
    """As the C++ JSON writer has it, which takes exponents from 1e15 on."""
    text = repr(number) if not isinstance(number, bool) else str(number).lower()
    if isinstance(number, float) and 1e15 <= abs(number) < 1e16:
        digits = text.removesuffix(".0").lstrip("-")
        digits = (digits[0] + "." + digits[1:]).rstrip("0").rstrip(".")
        text = f"{'-' if number < 0 else ''}{digits}e+15"
    return text


def _unique(name, taken, change):
    unique = identifier(name)
    while unique in taken:
        unique = change(unique)
    taken.add(unique)
    return unique


def input_name(name, taken):
    return _unique(name, taken, lambda unique: unique + "_")


def _parameter_name(name, taken):
    """Names that are taken get what the peer takes off again."""
    return _unique(name, taken, lambda unique: "param_" + unique)


def _tensor(name, row, is_output):
    generator = {} if is_output else {"generator": "reference"}
    return {"name": name, "dtype": row["dtype"], "role": "output" if is_output else "input",
            "shape": row["shape"] or [1], **generator}


def _literal(value):
    """(C++ type, literal)"""
    if isinstance(value, bool):
        return "bool", number_text(value)
    if isinstance(value, int) and -1 << 63 <= value < 1 << 63:
        return "int64_t", str(value)
    return "double", number_text(float(value))


def _call(module):
    """(tensors, parameters, arguments) of a candidate: outputs, forward()'s inputs, then state."""
    tensors, parameters, arguments, taken = [], [], [], set()

    def add(name, row, is_output):
        tensors.append(_tensor(name, row, is_output))
        parameters.append(f"{'' if is_output else 'const '}void* {name}")
        arguments.append(name)

    for row in module["outputs"]:
        add(input_name(row["name"], taken), row, True)
    for row in module["inputs"]:
        name = input_name(row["name"], taken)
        if "value" not in row:
            add(name, row, False)
            continue
        kind, literal = _literal(row["value"])
        parameters.append(f"{kind} {name}")
        arguments.append(literal)
    for row in module["parameters"]:
        add(_parameter_name(row["name"], taken), row, False)
    return tensors, parameters, arguments


def _module_tolerance(outputs):
    """KernelBench's eval.py compares with one number for both bounds, chosen by type: for large
    integers the relative one would let an index be another."""
    types = {row["dtype"] for row in outputs}
    if not types & {"f16", "bf16", "f32", "f64"}:
        return {"absolute": _EQUAL, "relative": 0.0,
                "reason": "outputs are whole numbers: they must be equal"}
    is_half = bool(types & {"f16", "bf16"})
    bound = 1e-2 if is_half else 1e-4
    return {"absolute": bound, "relative": bound,
            "reason": f"KernelBench's own for {'f16 and bf16' if is_half else 'f32'}"}


def _document(names, tensors):
    if len(tensors) > MOST_TENSORS:
        raise Failure(BAD_INPUT, f"it has {len(tensors)} tensors; the judge takes {MOST_TENSORS}")
    if not any(tensor["role"] == "input" for tensor in tensors):
        raise Failure(BAD_INPUT, "it has no input tensor")
    return {"version": 1, **names, "forms": ["program"], "tensors": tensors,
            "workloads": [{"name": "given", "sizes": {}}]}


def module_task(names, module, source):
    """A problem whose reference is the module in `source` (a file beside the task.toml). `names`:
    the task's "name" and "origin"."""
    tensors, parameters, arguments = _call(module)
    declaration = f'extern "C" void {LAUNCH}({", ".join(parameters)})'
    return {**_document(names, tensors), "baselines": ["torch-best"],
            "reference": {"kind": "torch", "style": "module", "source": source},
            "tolerance": _module_tolerance(module["outputs"]),
            "program": {"declaration": declaration, "arguments": arguments}}


def _argument_text(argument, names):
    """How the argument is written in the call; `names` are the tensors'."""
    if "expression" in argument:
        return argument["expression"]
    if not argument["array"]:
        return names[argument["tensors"][0]]
    entries = ", ".join(f"tensors[{index}]" for index in argument["tensors"])
    return f"std::vector<void*>{{{entries}}}.data()"


def driver_task(names, driver, declaration):
    """A problem whose reference is driver.cpp with launch.inc (files beside the task.toml)."""
    count = len(driver["arguments"])
    if count != len(declaration.parameters):
        raise Failure(BAD_INPUT, f"its launch was given {count} arguments, its declaration has "
                      f"{len(declaration.parameters)}")
    taken = set()
    tensor_names = [input_name(row["name"], taken) for row in driver["tensors"]]
    tensors = [_tensor(name, row, row["output"])
               for name, row in zip(tensor_names, driver["tensors"])]
    absolute, relative = driver["absolute"], driver["relative"]
    reason = (f"the driver's own: torch::allclose with rtol={number_text(relative)}, "
              f"atol={number_text(absolute)}")
    exact = absolute == 0 and relative == 0
    return {**_document(names, tensors),
            "reference": {"kind": "driver", "entry": "driver.cpp",
                          "sources": ["driver.cpp", "launch.inc"]},
            "tolerance": {"absolute": 1e-30 if exact else absolute, "relative": relative,
                          "reason": reason},
            "program": {"declaration": declaration.text(),
                        "arguments": [_argument_text(argument, tensor_names)
                                      for argument in driver["arguments"]]}}
