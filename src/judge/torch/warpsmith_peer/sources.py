"""Python files held in memory: imported, and shown in tracebacks, without touching the disk.

The process is ended with SIGKILL, so a temporary folder would be left behind each time.
"""
import importlib.abc
import importlib.util
import linecache
import sys


class MemoryFiles(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    """Finds `a.b` as a/b.py or a/b/__init__.py among `files` (path -> text)."""

    def __init__(self, files):
        self.files = dict(files)
        for path, text in self.files.items():
            # No time stamp: linecache never looks for these on the disk.
            linecache.cache[path] = (len(text), None, text.splitlines(keepends=True), path)

    def find_spec(self, fullname, path=None, target=None):
        stem = fullname.replace(".", "/")
        if stem + "/__init__.py" in self.files:
            return self._spec(fullname, stem + "/__init__.py", package=True)
        if stem + ".py" in self.files:
            return self._spec(fullname, stem + ".py", package=False)
        if any(name.startswith(stem + "/") and name.endswith(".py") for name in self.files):
            return self._spec(fullname, None, package=True)  # a folder without __init__.py
        return None

    def _spec(self, fullname, path, package):
        spec = importlib.util.spec_from_loader(fullname, self, origin=path, is_package=package)
        if package:
            spec.submodule_search_locations = []
        spec.loader_state = path
        return spec

    def exec_module(self, module):
        path = module.__spec__.loader_state
        if path is None:
            return
        module.__file__ = path
        exec(compile(self.files[path], path, "exec"), module.__dict__)

    def get_source(self, fullname):
        return self.files.get(self.find_spec(fullname).loader_state)

    def is_package(self, fullname):
        return self.find_spec(fullname).submodule_search_locations is not None

    def load(self, path, name):
        """Runs one of the files as the module `name`."""
        module = importlib.util.module_from_spec(self._spec(name, path, package=False))
        sys.modules[name] = module
        try:
            self.exec_module(module)
        except BaseException:
            del sys.modules[name]
            raise
        return module
