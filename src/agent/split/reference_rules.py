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
# What annotations name, and nothing but annotations; and what they are made of: a comprehension in
# one could put a class into a list, for others to call.
_IN_ANNOTATIONS = {"torch.Tensor"}
_ANNOTATION_NODES = (ast.Name, ast.Attribute, ast.Subscript, ast.Tuple, ast.List, ast.Constant,
                     ast.BinOp, ast.BitOr, ast.Load)
# Of what lasts from one call to the next: nothing in it can change.
_LASTING_NODES = (ast.Constant, ast.Tuple, ast.Name, ast.Attribute, ast.Subscript, ast.Slice,
                  ast.UnaryOp, ast.BinOp, ast.BoolOp, ast.Compare, ast.IfExp, ast.Call, ast.keyword,
                  ast.operator, ast.unaryop, ast.boolop, ast.cmpop, ast.expr_context)
_LASTING_CALLS = {"range", "len", "float", "int", "bool", "min", "max", "abs", "round"}
# Where a text may stand: what takes others might hand them on (torch.split of a text does).
_TEXT_TAKERS = {"einsum", "pad", "norm", "vector_norm", "matrix_norm", "scatter_reduce",
                "scatter_reduce_", "index_reduce"}
_TEXT_WORDS = {"mode", "padding_mode", "padding", "reduction", "reduce", "approximate", "indexing",
               "rounding_mode", "interpolation", "ord", "p", "norm", "driver", "UPLO"}
_ATTENTION = "scaled_dot_product_attention"


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
        self._texts, self._attentions = set(), set()  # seen to be where they may be

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
        is_more = node.decorator_list or getattr(node, "type_params", ())
        if is_more or node.name in self._modules or self._is_hidden(node.name):
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
            if not self._parameters:
                self._lasting(default)
        self._parameters.append({argument.arg for argument in every})
        for statement in node.body:
            self.visit(statement)
        self._parameters.pop()

    def _annotation(self, node):
        if node is None:
            return
        for part in ast.walk(node):
            if not isinstance(part, _ANNOTATION_NODES):
                self._refuse(part, "this annotation")
            self._texts.add(part)
        self._in_annotation = True
        self.visit(node)
        self._in_annotation = False

    def visit_Module(self, node):
        for statement in node.body:
            self.visit(statement)
            if isinstance(statement, ast.Assign):
                self._lasting(statement.value)

    def _lasting(self, node):
        """What a function could change would make its next call another one."""
        for part in ast.walk(node):
            is_plain = isinstance(part, _LASTING_NODES)
            if isinstance(part, ast.Call):
                path = self._module_path(part.func) or ""
                is_plain = (path.startswith("math.") or path in ("torch.finfo", "torch.iinfo")
                            or (isinstance(part.func, ast.Name) and part.func.id in _LASTING_CALLS
                                and part.func.id not in self._bound))
            if not is_plain:
                self._refuse(part, "anything but plain numbers outside of a function")

    def visit_Expr(self, node):
        self._texts.add(node.value)
        self.generic_visit(node)

    def visit_Assert(self, node):
        self._texts.add(node.msg)
        self.generic_visit(node)

    def visit_Call(self, node):
        path = self._module_path(node.func)
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        is_number = (isinstance(node.func, ast.Name) and node.func.id in ("float", "int")
                     and node.func.id not in self._bound)
        # None can name a device: results on "meta" are whatever was in memory.
        if is_number or name in _TEXT_TAKERS:
            self._texts.update(node.args)
        if name:
            self._texts.update(word.value for word in node.keywords if word.arg in _TEXT_WORDS)
        for word in node.keywords:
            if word.arg in (None, "out"):
                self._refuse(node, f"'{word.arg or '**'}' in a call")
            if word.arg == "output_size" and not (path or "").startswith("torch.nn.functional."):
                self._refuse(node, "'output_size' here")  # repeat_interleave() believes it
        if path and name == _ATTENTION:
            self._attention(node)
        self.generic_visit(node)

    def _attention(self, node):
        """Without dropout, which is random."""
        dropouts = [*node.args[4:5], *(w.value for w in node.keywords if w.arg == "dropout_p")]
        is_plain = all(isinstance(value, ast.Constant) and value.value == 0 for value in dropouts)
        if not is_plain or any(isinstance(value, ast.Starred) for value in node.args):
            self._refuse(node, "dropout")
        self._attentions.add(node.func)

    def visit_Constant(self, node):
        if isinstance(node.value, (str, bytes)) and node not in self._texts:
            self._refuse(node, "a text here")

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
            if name == _ATTENTION and node not in self._attentions:
                self._refuse(node, f"'{path[:60]}' where it is not called")
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
