"""launch_gpu_implementation, as a driver declares it and a candidate defines it, found in C++ text.

Texts are bytes decoded as latin-1, so that each byte is a character.
"""
import dataclasses
import re

from warpsmith_peer.failures import BAD_INPUT, Failure

LAUNCH = "launch_gpu_implementation"

_BLANK = re.compile(r"(?:[ \t\n\v\f\r]|//[^\n]*|/\*(?:.*?\*/|.*)|#(?:\\.|[^\\\n])*\\?)+", re.DOTALL)
# Words, "::" and single signs; literals are one token, comments and directives none.
_TOKEN = re.compile(r"""(?P<word>[A-Za-z0-9_]+)|::|(?P<quote>["'])(?:\\.|(?!(?P=quote))[^\\\n])*"""
                    r"""(?:(?P=quote)|\n|\\?\Z)|.""", re.DOTALL)
_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_OF_TYPE = re.compile(r"[A-Za-z0-9_]+|::|[*&<>,]")
_OPEN, _CLOSE = ("(", "[", "{"), (")", "]", "}")
# Words that are a type, or part of one, so that they cannot be a parameter's name.
_TYPE_WORDS = frozenset("const volatile unsigned signed int long short char float double bool void "
                        "auto half size_t int64_t uint64_t".split())
# On x86-64 and ARM Linux, which is where CUDA is.
_SAME = {"long": "int64_t", "long int": "int64_t", "ptrdiff_t": "int64_t",
         "unsigned long": "size_t", "uint64_t": "size_t", "unsigned long int": "size_t",
         "unsigned": "unsigned int", "uint32_t": "unsigned int", "int32_t": "int",
         "__half": "half", "__nv_bfloat16": "nv_bfloat16"}


@dataclasses.dataclass(frozen=True)
class Declaration:
    c_linkage: bool
    returns: str
    parameters: tuple  # of (type, name)

    def text(self):
        listed = ", ".join(f"{kind} {name}" for kind, name in self.parameters)
        linkage = 'extern "C" ' if self.c_linkage else ""
        return f"{linkage}{self.returns} {LAUNCH}({listed})"

    def capturing_definition(self):
        """A definition that hands every argument to warpsmith::capture (capture.h)."""
        captured = "".join(f'  call.Argument("{name}", {name});\n' for _, name in self.parameters)
        ending = "" if self.returns == "void" else "  return {};\n"
        return f"{self.text()} {{\n  warpsmith::capture::Call call;\n{captured}{ending}}}\n"


def _unusable(what):
    return Failure(BAD_INPUT, f"{LAUNCH} {what}".encode("latin-1").decode(errors="replace"),
                   "declare it before main(), as in: void launch_gpu_implementation(void* output, "
                   "const void* input, int64_t n);")


def _after_raw(text, quote):
    """R"x(...)x", from its quote."""
    opened = text.find("(", quote)
    end = text.find(f"){text[quote + 1:opened]}\"", opened) if opened >= 0 else -1
    return len(text) if end < 0 else end + opened - quote + 1


def tokens_of(text):
    tokens, at = [], 0
    while at < len(text):
        if blank := _BLANK.match(text, at):
            at = blank.end()
            continue
        token = _TOKEN.match(text, at)
        end = token.end()
        if (token["word"] or "").endswith("R") and text[end:end + 1] == '"':
            end = _after_raw(text, end)
        tokens.append(text[at:end])
        at = end
    return tokens


def _is_word(token):
    return _WORD.match(token) is not None


def _joined(tokens):
    text = ""
    for before, token in zip([""] + tokens, tokens):
        words = re.match(r"\w", token, re.ASCII) and re.search(r"\w\Z", before, re.ASCII)
        text += " " if words or (before in (">", "*", "&") and _is_word(token)) else ""
        text += token
    return text


def _after_matching(tokens, opened):
    """Index after the bracket that closes the one at `opened`, or None."""
    depth = 0
    for index in range(opened, len(tokens)):
        depth += (tokens[index] in _OPEN) - (tokens[index] in _CLOSE)
        if depth == 0 and tokens[index] in _CLOSE:
            return index + 1
    return None


def _last_is_name(tokens):
    """A word names the parameter when what stands before it is a type already."""
    if len(tokens) < 2 or not _is_word(tokens[-1]) or tokens[-1] in _TYPE_WORDS:
        return False
    return tokens[-2] != "::" and any(word not in ("const", "volatile") for word in tokens[:-1])


def _parameter(tokens, index):
    tokens = tokens[:tokens.index("=")] if "=" in tokens else tokens
    if not tokens:
        raise _unusable("has an empty parameter")
    if tokens.count("<") != tokens.count(">") or not all(map(_OF_TYPE.fullmatch, tokens)):
        raise _unusable(f'has the parameter "{_joined(tokens)}"')
    if _last_is_name(tokens):
        return _joined(tokens[:-1]), tokens[-1]
    return _joined(tokens), f"argument{index}"


def _split(tokens):
    """At the commas that are in no bracket; < and > count where a template's name opens them."""
    parts, depth = [[]], 0
    for token in tokens:
        depth += (token in ("<", *_OPEN)) - (token in (">", *_CLOSE))
        if token == "," and depth == 0:
            parts.append([])
        else:
            parts[-1].append(token)
    return parts


def _parameters(tokens):
    parameters, names = [], set()
    for part in [] if tokens in ([], ["void"]) else _split(tokens):
        kind, name = _parameter(part, len(parameters))
        if name in names:
            raise _unusable(f"has two parameters named {name}")
        names.add(name)
        parameters.append((kind, name))
    if not parameters:
        raise _unusable("takes no parameters")
    return tuple(parameters)


def _declaration(tokens, name, end):
    """Whose name stands at `name` and whose parameters end before `end`."""
    begin = name
    while begin > 0 and tokens[begin - 1] not in (";", "}", "{"):
        begin -= 1
    head = tokens[begin:name]
    in_block = begin >= 3 and tokens[begin - 2:begin] == ['"C"', "{"]
    itself = head[:2] == ["extern", '"C"']
    head = head[2:] if itself else head
    head = head[1:] if head[:1] in (["extern"], ["inline"]) else head
    if not head or not all(_is_word(token) or token in ("::", "*") for token in head):
        raise _unusable("is declared in a form that is not understood")
    return Declaration(in_block or itself, _joined(head), _parameters(tokens[name + 2:end - 1]))


def _mentions(tokens):
    """Where the name is followed by parameters, outside of calls and of braces, those of
    extern "C" { } not counted."""
    depth, counted = 0, []
    for index, token in enumerate(tokens):
        before = tokens[index - 1] if index else ""
        if token == "{":
            counted.append(before != '"C"')
            depth += counted[-1]
        elif token == "}" and counted:
            depth -= counted.pop()
        elif token == LAUNCH and depth == 0 and tokens[index + 1:index + 2] == ["("]:
            if before == "*" or (_is_word(before) and before != "return"):
                yield index


def find_declaration(driver):
    tokens = tokens_of(driver)
    name = next(_mentions(tokens), None)
    if name is None:
        raise _unusable("is not declared")
    end = _after_matching(tokens, name + 1)
    if end is None:
        raise _unusable("has a parameter list that never closes")
    if tokens[end:end + 1] == ["{"]:
        raise _unusable("is defined in the driver")
    return _declaration(tokens, name, end)


def find_definitions(source):
    tokens, definitions = tokens_of(source), []
    for name in _mentions(tokens):
        end = _after_matching(tokens, name + 1)
        if end is None:
            break  # nor does any bracket that is opened later close before it
        if tokens[end:end + 1] != ["{"]:
            continue
        try:
            definition = _declaration(tokens, name, end)
        except Failure:
            continue
        if not definition.returns.startswith("static "):
            definitions.append(definition)
    return definitions


def plain_type(text):
    """One spelling for each type that a linker takes for the same: without std:: and const that no
    caller sees, int64_t for long, half for __half."""
    words = re.sub(r"([*&<>,])", r" \1 ", text).replace("std::", "").split()
    if "*" not in words and "&" not in words:
        # A value's own const is nobody's concern but the callee's; so is that of a pointer itself.
        words = [word for word in words if word != "const"]
    elif words[-1] == "const":
        words.pop()
    if words[1:2] == ["const"]:  # T const*
        words[:2] = reversed(words[:2])
    begin = end = int(words[:1] == ["const"])
    while end < len(words) and not (len(words[end]) == 1 and words[end] < "A"):
        end += 1
    named = " ".join(words[begin:end])
    rest = [_SAME.get(word, word) for word in words[end:]]
    return " ".join([*words[:begin], _SAME.get(named, named), *rest])


def _plain(declaration):
    return [plain_type(kind) for kind, _ in declaration.parameters]


def _difference(declared, defined):
    """The first thing that differs."""
    ours, theirs = declared.parameters, defined.parameters
    if len(ours) != len(theirs):
        return f"{len(theirs)}, not {len(ours)}"
    for (wanted, _), (kind, name) in zip(ours, theirs):
        if plain_type(wanted) != plain_type(kind):
            return f"{name} is {kind}, not {wanted}"
    return "another linkage"


def match(declared, definitions):
    """(the declaration for candidates: the driver's, perhaps with the linkage of a definition that
    differs in nothing else; what a person should know: "" for nothing)"""
    if not definitions:
        return declared, ""
    same = None
    for defined in definitions:
        alike = _plain(declared) == _plain(defined)
        if not alike and not (declared.c_linkage and defined.c_linkage):
            continue
        if same is None or (alike and defined.c_linkage == declared.c_linkage):
            same = defined
    other = f"init.cu defines {LAUNCH} with other parameters than its driver declares"
    if same is None:
        return declared, f"{other} ({_difference(declared, definitions[0])}): it cannot load"
    if _plain(declared) != _plain(same):
        return declared, f"{other} ({_difference(declared, same)}), and C linkage hides it"
    if same.c_linkage == declared.c_linkage:
        return declared, ""
    return (dataclasses.replace(declared, c_linkage=same.c_linkage),
            f"launch_gpu_implementation has {'C' if same.c_linkage else 'C++'} linkage, as init.cu "
            "defines it, not its driver's")


# Where a word is used one of the headers must be included; the first is added.
_NEEDS = (("std::vector", ("<vector>",)), ("stderr", ("<cstdio>", "<stdio.h>", "<iostream>")))


def init_source(text):
    """init.cu with the headers that torch brought where it came from."""
    added = [headers[0] for word, headers in _NEEDS
             if word in text and not any(header in text for header in headers)]
    return "".join(f"#include {header}\n" for header in added) + text
