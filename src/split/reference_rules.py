"""What a reference that a model wrote may hold: arithmetic on tensors, and nothing else.

It is run again and again, at last as the reference of a task, as the user and without a sandbox. So
its text is looked at before anything of it runs: functions of a few plain statements, and what
reference_names.py lists. There is no way from these to files, processes, the network, Python's own
insides, or what others have in memory; and nothing but names of its own can be assigned to.
"""
import ast
import builtins

from reference_names import FUNCTIONS, METHODS
from warpsmith_peer.failures import BAD_INPUT, Failure

_NODES = (ast.Module, ast.Import, ast.ImportFrom, ast.alias, ast.FunctionDef, ast.arguments,
          ast.arg, ast.Return, ast.Assign, ast.AugAssign, ast.Expr, ast.If, ast.For, ast.Pass,
          ast.IfExp, ast.Break, ast.Continue, ast.Assert, ast.BoolOp, ast.BinOp, ast.UnaryOp,
          ast.Compare, ast.Call, ast.keyword, ast.Attribute, ast.Subscript, ast.Slice, ast.Name,
          ast.Constant, ast.Tuple, ast.List, ast.Starred, ast.ListComp, ast.GeneratorExp,
          ast.comprehension, ast.operator, ast.unaryop, ast.boolop, ast.cmpop, ast.expr_context)
_BUILTINS = {"range", "len", "float", "int", "bool", "min", "max", "abs", "sum", "zip", "enumerate",
             "list", "tuple", "reversed", "round", "all", "any", "sorted", "True", "False", "None"}
_IMPORTS = {"torch", "math", "torch.nn", "torch.nn.functional", "torch.linalg", "torch.special",
            "torch.fft"}
# What annotations name, and nothing but annotations.
_IN_ANNOTATIONS = {"torch.Tensor"}


def _binds(node):
    """Names that a statement or parameter gives a meaning to, somewhere."""
    if isinstance(node, ast.FunctionDef):
        return [node.name]
    if isinstance(node, ast.arg):
        return [node.arg]
    return [node.id] if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) else []


class _Checker(ast.NodeVisitor):
    def __init__(self, path, tree):
        self._path, self._modules = path, {}
        self._bound = {name for node in ast.walk(tree) for name in _binds(node)}
        self._parameters = []  # of the functions that we are in
        self._in_annotation = False

    def _refuse(self, node, what):
        line = getattr(node, "lineno", 1)
        raise Failure(BAD_INPUT, f"{self._path}:{line}: {what} is not allowed in a reference that "
                      "a model wrote", "use functions of torch on tensors alone")

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
        if self._modules.setdefault(bound, meant) != meant or self._is_hidden(bound):
            self._refuse(node, f"a second meaning of '{bound[:60]}'")

    def visit_FunctionDef(self, node):
        if node.decorator_list or node.name in self._modules or self._is_hidden(node.name):
            self._refuse(node, f"this form of function '{node.name[:60]}'")
        every = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs,
                 *filter(None, (node.args.vararg, node.args.kwarg))]
        for argument in every:
            if argument.arg in self._modules or argument.arg.startswith("__"):
                self._refuse(argument, f"'{argument.arg[:60]}'")
            self._annotation(argument.annotation)
        self._annotation(node.returns)
        for default in filter(None, (*node.args.defaults, *node.args.kw_defaults)):
            self.visit(default)
        self._parameters.append({argument.arg for argument in every})
        for statement in node.body:
            self.visit(statement)
        self._parameters.pop()

    def _annotation(self, node):
        if node is None:
            return
        for part in ast.walk(node):
            if isinstance(part, ast.Call):
                self._refuse(part, "this annotation")
        self._in_annotation = True
        self.visit(node)
        self._in_annotation = False

    def _is_hidden(self, name):
        """What Python would find under this name if nothing else had it."""
        return name.startswith("__") or (name in dir(builtins) and name not in _BUILTINS)

    def visit_Name(self, node):
        is_ours = any(node.id in names for names in self._parameters)  # nothing can be deleted
        if node.id in self._modules or (self._is_hidden(node.id) and not is_ours):
            self._refuse(node, f"'{node.id[:60]}'")
        if node.id not in self._bound and node.id not in _BUILTINS:
            self._refuse(node, f"'{node.id[:60]}', which nothing defines,")

    def visit_Attribute(self, node):
        if not isinstance(node.ctx, ast.Load):
            self._refuse(node, f"assigning to '.{node.attr[:60]}'")
        path = self._module_path(node)
        if path is not None:
            space, _, name = path.rpartition(".")
            is_known = name in FUNCTIONS.get(space, ())
            if not is_known and not (self._in_annotation and path in _IN_ANNOTATIONS):
                self._refuse(node, f"'{path[:60]}'")
            return
        self.visit(node.value)
        if node.attr not in METHODS:
            self._refuse(node, f"'.{node.attr[:60]}'")

    def _module_path(self, node):
        """"torch.nn.functional.relu" of F.relu; None of what is no module's."""
        names = []
        while isinstance(node, ast.Attribute):
            names.append(node.attr)
            node = node.value
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
    checker = _Checker(path, tree)
    for statement in tree.body:
        if not isinstance(statement, (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.Assign,
                                      ast.Expr)):
            checker._refuse(statement, f"'{type(statement).__name__}' outside of a function")
    # Imports first: nothing may stand for a module before it is known as one.
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            checker.visit(node)
    checker.visit(tree)
