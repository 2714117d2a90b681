"""Expected outputs: the task's inputs, through the reference, in the best precision there is."""
import contextlib
import gc

import torch

from warpsmith_peer.arena import dtype_name
from warpsmith_peer.failures import BAD_INPUT, Failure, of_user_code
from warpsmith_peer.subject import cast


@contextlib.contextmanager
def full_f32():
    """No TF32: a reference in f32 must be one."""
    matmul, cudnn = torch.backends.cuda.matmul, torch.backends.cudnn
    before = matmul.allow_tf32, cudnn.allow_tf32
    matmul.allow_tf32 = cudnn.allow_tf32 = False
    try:
        yield
    finally:
        matmul.allow_tf32, cudnn.allow_tf32 = before


def outputs_of(result):
    return list(result) if isinstance(result, (list, tuple)) else [result]


def _kind(dtype):
    if dtype.is_floating_point:
        return "floating"
    return "bool" if dtype == torch.bool else "integer" if not dtype.is_complex else "complex"


def check_outputs(entry, results, regions, same_dtype):
    """`results` fit the task's outputs, or a Failure says which does not, and how."""
    fix = "correct the reference's result, or the task's output tensors"
    if len(results) != len(regions):
        raise Failure(BAD_INPUT, f"{entry}: the reference returns {len(results)} outputs, the task "
                      f"has {len(regions)}", fix)
    for result, region in zip(results, regions):
        if not isinstance(result, torch.Tensor):
            raise Failure(BAD_INPUT, f"{entry}: output {region.name} is a "
                          f"{type(result).__name__}, not a tensor", fix)
        if (tuple(result.shape) or (1,)) != (region.extents or (1,)):
            raise Failure(BAD_INPUT, f"{entry}: output {region.name} has shape "
                          f"{tuple(result.shape)}, the task says {region.extents}", fix)
        exact = result.dtype == region.dtype
        if not (exact or (not same_dtype and _kind(result.dtype) == _kind(region.dtype))):
            raise Failure(BAD_INPUT, f"{entry}: output {region.name} is "
                          f"{dtype_name(result.dtype)}, the task says {dtype_name(region.dtype)}",
                          fix)


def store(results, tensors):
    for result, tensor in zip(results, tensors):
        tensor.copy_(result.reshape(tensor.shape))


def _precisions(subject, regions):
    """(name, floating type to compute in) from the best on. Option `precision` names where to
    begin, for references that would take too long in f64."""
    floating = {region.dtype for region in regions if region.dtype.is_floating_point}
    known = [("f64", torch.float64), ("f32", torch.float32), ("native", None)]
    first = subject.arena.task["reference"]["options"].get("precision", "f64")
    names = [name for name, _ in known]
    if first not in names:
        raise Failure(BAD_INPUT, f"reference option precision = \"{first}\" is not known",
                      f"write one of {', '.join(names)}")
    if not floating:
        return known[2:]
    if floating == {torch.float64}:
        return known[:1]
    last = 2 if floating == {torch.float32} and first != "native" else 3
    return known[names.index(first):last]


def _attempt(subject, inputs, floating):
    """(results, None) or (None, what the reference raised, as a Failure)."""
    try:
        copies = [cast(region.slots[0], floating, copy=True) for region in inputs]
        return outputs_of(subject.evaluate(copies, floating)), None
    except (Exception, SystemExit) as error:
        # Not the exception itself: its frames would hold the memory that the next attempt needs.
        return None, of_user_code("computing the reference", error, subject.files)


def compute_expected(subject, arena, memory):
    """From the exact inputs to the exact outputs. Returns the reply's fields."""
    inputs, outputs = arena.exact_of("input"), arena.exact_of("output")
    notes = []
    with torch.no_grad(), full_f32():
        for name, floating in _precisions(subject, inputs):
            results, failure = _attempt(subject, inputs, floating)
            if failure is None:
                failure = _stored(subject, results, outputs, memory)
            results = None
            gc.collect()
            memory.release_cache()
            if failure is None:
                return {"precision": name, "text": "; ".join([f"computed in {name}", *notes])}
            notes.append(f"not in {name}: {failure.message}")
    raise failure


def _stored(subject, results, outputs, memory):
    check_outputs(subject.entry, results, outputs, same_dtype=False)
    try:
        store(results, [region.slots[0] for region in outputs])
        memory.synchronize()  # where CUDA tells what the reference did wrong
        return None
    except Exception as error:
        return of_user_code("computing the reference", error, subject.files)


def draw_inputs(subject, arena, seed):
    """Fills the exact inputs from the reference's own generator."""
    inputs = arena.exact_of("input")
    with torch.no_grad():
        drawn = subject.draw(seed)
        fix = "correct get_inputs(), or the task's tensors"
        if len(drawn) != len(inputs):
            raise Failure(BAD_INPUT, f"{subject.entry}: get_inputs() gives {len(drawn)} tensors, "
                          f"the task has {len(inputs)} inputs", fix)
        for value, region in zip(drawn, inputs):
            if (tuple(value.shape) or (1,)) != (region.extents or (1,)):
                raise Failure(BAD_INPUT, f"{subject.entry}: input {region.name} is drawn with "
                              f"shape {tuple(value.shape)}, the task says {region.extents}", fix)
            region.slots[0].copy_(value.reshape(region.extents))
