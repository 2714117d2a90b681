"""What a reference that a model wrote may hold: arithmetic on tensors, and nothing else.

It runs as the user does, without a sandbox. So its text is looked at before anything of it runs:
functions of a few plain statements, torch's functions on tensors by name, methods of tensors. There
is no way from these to files, processes, the network, or Python's own insides.
"""
import ast
import builtins
import math

import torch
import torch.overrides
from warpsmith_peer.failures import BAD_INPUT, Failure

_NODES = (ast.Module, ast.Import, ast.ImportFrom, ast.alias, ast.FunctionDef, ast.arguments, ast.arg,
          ast.Return, ast.Assign, ast.AugAssign, ast.Expr, ast.If, ast.For, ast.Pass, ast.IfExp,
          ast.BoolOp, ast.BinOp, ast.UnaryOp, ast.Compare, ast.Call, ast.keyword, ast.Attribute,
          ast.Subscript, ast.Slice, ast.Name, ast.Constant, ast.Tuple, ast.List, ast.Starred,
          ast.ListComp, ast.GeneratorExp, ast.comprehension, ast.operator, ast.unaryop, ast.boolop,
          ast.cmpop, ast.expr_context)
_BUILTINS = {"range", "len", "float", "int", "bool", "min", "max", "abs", "sum", "zip", "enumerate",
             "list", "tuple", "reversed", "round", "True", "False", "None"}
_CREATION = {"zeros", "ones", "full", "arange", "linspace", "eye", "tensor", "zeros_like", "ones_like",
             "full_like", "scalar_tensor", "tril_indices", "triu_indices", "finfo", "iinfo", "inf",
             "nan", "pi", "e", "Tensor"}
_NO_METHODS = {"numpy", "data_ptr", "storage", "typed_storage", "untyped_storage", "storage_type",
               "set_", "resize_", "resize_as_", "share_memory_", "register_hook", "module_load",
               "register_post_accumulate_grad_hook", "apply_", "map_", "map2_", "grad_fn", "backward"}
_IMPORTS = {"torch", "math", "torch.nn", "torch.nn.functional"}
_SPACES = {"torch": torch, "torch.nn.functional": torch.nn.functional, "torch.linalg": torch.linalg,
           "torch.special": torch.special, "torch.fft": torch.fft}


def _allowed_paths():
    known = {id(f) for functions in torch.overrides.get_overridable_functions().values()
             for f in functions}
    paths = {f"math.{name}" for name in dir(math) if not name.startswith("_")}
    for space, module in _SPACES.items():
        paths |= {f"{space}.{name}" for name in dir(module) if not name.startswith("_")
                  and (id(getattr(module, name)) in known
                       or isinstance(getattr(module, name), torch.dtype))}
    return paths | {f"torch.{name}" for name in _CREATION}


class _Checker(ast.NodeVisitor):
    def __init__(self, path):
        self._path, self._modules, self._paths = path, {}, _allowed_paths()
        self._methods = {name for name in dir(torch.Tensor) if not name.startswith("_")}
        self._methods = (self._methods - _NO_METHODS) | {"append", "extend", "eps"}

    def _refuse(self, node, what):
        raise Failure(BAD_INPUT, f"{self._path}:{getattr(node, 'lineno', 1)}: {what} is not allowed in "
                      "a reference that a model wrote", "use functions of torch on tensors alone")

    def generic_visit(self, node):
        if not isinstance(node, _NODES):
            self._refuse(node, f"'{type(node).__name__}'")
        super().generic_visit(node)

    def visit_Import(self, node):
        for alias in node.names:
            self._take(node, alias.name, alias.asname)

    def visit_ImportFrom(self, node):
        for alias in node.names:
            if node.level or not node.module:
                self._refuse(node, "this import")
            self._take(node, f"{node.module}.{alias.name}", alias.asname or alias.name)

    def _take(self, node, module, name):
        if module not in _IMPORTS:
            self._refuse(node, f"importing {module[:60]}")
        bound = name or module.split(".")[0]
        meant = module if name else bound
        if self._modules.setdefault(bound, meant) != meant:
            self._refuse(node, f"a second meaning of '{bound[:60]}'")

    def visit_FunctionDef(self, node):
        if node.decorator_list or node.name in self._modules or node.name in dir(builtins):
            self._refuse(node, f"this form of function '{node.name[:60]}'")
        self.generic_visit(node)

    def visit_Name(self, node):
        hidden = node.id.startswith("__") or (node.id in dir(builtins) and node.id not in _BUILTINS)
        if hidden or node.id in self._modules:
            self._refuse(node, f"'{node.id[:60]}'")

    def visit_Attribute(self, node):
        path = self._module_path(node)
        if path is not None:
            if path not in self._paths:
                self._refuse(node, f"'{path[:60]}'")
            return
        if node.attr not in self._methods:
            self._refuse(node, f"'.{node.attr[:60]}'")
        self.visit(node.value)

    def _module_path(self, node):
        """"torch.nn.functional.relu" of F.relu; None of what is no module's."""
        names = []
        while isinstance(node, ast.Attribute):
            names.append(node.attr)
            node = node.value
            dotted = self._dotted(node, names)
            if dotted is not None:
                return dotted
        return None

    def _dotted(self, node, names):
        if not isinstance(node, ast.Name) or node.id not in self._modules:
            return None
        return ".".join([self._modules[node.id], *reversed(names)])


def check_reference(path, text):
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None) or 1
        raise Failure(BAD_INPUT, f"{path}:{line}: it is no Python: {type(error).__name__}",
                      "write a whole Python file") from None
    checker = _Checker(path)
    for statement in tree.body:
        if not isinstance(statement, (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.Assign,
                                      ast.Expr)):
            checker._refuse(statement, f"'{type(statement).__name__}' outside of a function")
    # Imports first: nothing may stand for a module before it is known as one.
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            checker.visit(node)
    checker.visit(tree)
