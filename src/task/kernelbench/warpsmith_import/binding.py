"""Which of a driver's tensors are a module's inputs, and which its state, as far as extents, names
and order tell."""
import itertools

from warpsmith_import.document import identifier
from warpsmith_peer.failures import BAD_INPUT, Failure

_MOST = 24  # bindings that are tried


def _extents(row):
    return [extent for extent in row["shape"] if extent != 1]


def _text(row):
    return f"{row['name']} ({'x'.join(map(str, row['shape']))})"


def _likeness(ours, theirs):
    """How alike two names are: equal, one ending in the other, ending in the same word, or not."""
    a, b = identifier(ours).lower(), identifier(theirs).lower()
    if a == b:
        return 3
    if a.endswith(b) or b.endswith(a):
        return 2
    return int(a.rpartition("_")[2] == b.rpartition("_")[2])


def _take(wanted, tensors, fits, likeness, places):
    """Binds what is not yet bound and fits, the most alike first; of equals the first."""
    choices = [(likeness(row["name"], tensor["name"]), i, k)
               for i, (row, _) in enumerate(wanted) for k, tensor in enumerate(tensors)
               if not tensor["output"] and fits(row) == fits(tensor)]
    for _, i, k in sorted(choices, key=lambda choice: -choice[0]):
        if places[i] is None and k not in places:
            places[i] = k


def _places(wanted, tensors, likeness):
    """The index of each wanted one's tensor. Two tensors that differ in extents of 1 only, such as
    biases [16] and [16, 1, 1], are told apart by them; a driver that leaves them out has what then
    remains."""
    places = [None] * len(wanted)
    _take(wanted, tensors, lambda row: row["shape"], likeness, places)
    _take(wanted, tensors, _extents, likeness, places)
    return places


def _exchanged(wanted, places):
    """Every other way to give wanted tensors of one shape what they have together; none where there
    are more than can be tried."""
    alike, everything = {}, [places]
    for i, (row, _) in enumerate(wanted):
        alike.setdefault(tuple(row["shape"]), []).append(i)
    for _, members in sorted(alike.items()):
        before = everything[:]
        for order in itertools.islice(itertools.permutations(members), 1, None):
            if len(everything) + len(before) > _MOST:
                return []
            for other in before:
                changed = other[:]
                for at, source in zip(members, order):
                    changed[at] = places[source]
                everything.append(changed)
    return everything


def _binding(wanted, tensors, places):
    for (row, is_input), place in zip(wanted, places):
        if place is None:
            raise Failure(BAD_INPUT, f"{'input' if is_input else 'parameter'} {_text(row)} has no "
                          "equal in the driver")
    for i, tensor in enumerate(tensors):
        if not tensor["output"] and i not in places:
            raise Failure(BAD_INPUT, f"the driver's {_text(tensor)} has no equal in the module")
    pairs = list(zip(wanted, places))
    return ([place for (_, is_input), place in pairs if is_input],
            [(row["name"], place) for (row, is_input), place in pairs if not is_input])


def _check_outputs(module, tensors):
    outputs = [tensor for tensor in tensors if tensor["output"]]
    if len(outputs) != len(module["outputs"]):
        raise Failure(BAD_INPUT, "it has another number of outputs")
    for ours, theirs in zip(outputs, module["outputs"]):
        if _extents(ours) != _extents(theirs):
            raise Failure(BAD_INPUT, f"the output is {_text(theirs)} there, {_text(ours)} here")


def bindings(module, driver):
    """Pairs (tensors of forward()'s inputs in its order, [(state_dict()'s name, tensor)]).

    Tensors of equal extents are bound; where several have the same, by their names in the first
    binding, by their order in the second, then in all other ways, if they are few. Extents of 1
    count only where they tell tensors apart; integer state that no kernel reads
    (num_batches_tracked) need not be given. A Failure says what differs."""
    tensors = driver["tensors"]
    _check_outputs(module, tensors)
    wanted = [(row, True) for row in module["inputs"] if "value" not in row]
    wanted += [(row, False) for row in module["parameters"]
               if (row["dtype"], row["shape"]) != ("i64", [])]
    by_name = _places(wanted, tensors, _likeness)
    by_order = _places(wanted, tensors, lambda ours, theirs: 0)
    found = [_binding(wanted, tensors, by_name)]
    for places in (by_order, *_exchanged(wanted, by_name)):
        binding = _binding(wanted, tensors, places)
        if binding not in found:
            found.append(binding)
    return found


def options_of(binding, driver, tensors, module_file):
    """reference.options of a paired task: "module", "dtype", "inputs" (names of the task's tensors)
    and "parameters" ("conv.weight=conv_weight,...")."""
    inputs, parameters = binding
    # The type that the driver computes in, as the peer names it; none: as the module has them.
    cast = [row["dtype"] for row in driver["tensors"] if row["dtype"] in ("f16", "bf16")]
    return {"module": module_file,
            "inputs": ",".join(tensors[index]["name"] for index in inputs),
            "parameters": ",".join(f"{own}={tensors[index]['name']}" for own, index in parameters),
            **({"dtype": cast[0]} if cast else {})}
