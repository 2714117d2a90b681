"""The import: reads a checkout and has a task folder written for each problem.

C++ (kernelbench/import.cc) starts main() with a socket and a request. Messages to it: {"row"} for
each problem when it is known, {"load": FOLDER} and {"task": FOLDER, "document"} for task.toml files
(answered by {"bytes"} of all tensors, or an error), and at the end {"rows", "set"} or an error.
"""
import json
import os
import pathlib
import select
import tempfile

from warpsmith_import import checkout as sets
from warpsmith_import import children, document, driver, launch, module
from warpsmith_import.binding import bindings, options_of
from warpsmith_import.checkout import USAGE, read_regular
from warpsmith_import.children import Work, run_all
from warpsmith_peer.failures import BAD_INPUT, IO, Failure
from warpsmith_peer.frames import FrameError

_CANDIDATE = ('version = 1\nform = "program"\nentry = "init.cu"\nsources = ["init.cu"]\n'
              'toolchain = "nvcc"\n')
_MODULE = "model.py"


class _Tasks:
    """Folders of tasks, whose task.toml the C++ side writes and reads."""

    def __init__(self, socket):
        self._socket = socket

    def _ask(self, message):
        self._socket.send(message)
        answer = json.loads(self._socket.receive().header)
        if "error" in answer:
            raise Failure(answer["code"], answer["error"], answer["fix"])
        return answer["bytes"]

    def is_done(self, folder, files):
        """Whether an earlier import finished here, from the same sources: each of `files` (name ->
        bytes) is there unchanged beside a task.toml that can be read."""
        try:
            same = (folder / "task.toml").exists() and all(
                (folder / name).read_bytes() == data for name, data in files.items())
            return same and self._ask({"load": str(folder)}) >= 0
        except (OSError, Failure):
            return False

    def write_files(self, folder, files):
        for name, data in files.items():
            path = folder / name
            make_folder(path.parent)
            try:
                with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as copy:
                    copy.write(data)
                os.chmod(copy.name, 0o644)
                os.replace(copy.name, path)
            except OSError as error:
                raise Failure(IO, f"writing {path}: {error.strerror}") from None

    def write(self, folder, task):
        """The bytes of all its tensors. It comes last: a folder without it is unfinished."""
        return self._ask({"task": str(folder), "document": task})


def make_folder(path):
    try:
        os.makedirs(path, exist_ok=True)
    except OSError as error:
        raise Failure(IO, f"making the folder {path}: {error.strerror}") from None


class _Import:
    def __init__(self, socket, number, request):
        self._socket, self._number, self._tasks = socket, number, _Tasks(socket)
        self._python, self._jobs, self._limit = (request["python"], request["jobs"],
                                                 request["limit_seconds"])
        self._request, self._rows, self._pairs, self._precompiled = request, {}, None, None
        self.set = ""

    def is_stopped(self):
        """The C++ side sends nothing unasked: what can be read is its end."""
        return bool(select.select([self._number], [], [], 0)[0])

    def _report(self, key, result, reason="", folder="", size=0):
        row = {"problem": getattr(key, "id", key), "result": result, "reason": reason,
               "folder": str(folder), "bytes": size}
        self._rows[key] = row
        self._socket.send({"row": row})

    def _place(self, problem):
        return pathlib.Path(self._request["output"]) / self.set / problem.id

    def _names(self, problem, kind, size_set):
        return {"name": f"{self.set}/{problem.id}", "origin":
                f"{kind} level{problem.level} #{problem.number}, size set {size_set}"}

    def _steps(self, problem, steps):
        """The problem's fault is a row; a full disk or a missing right is the end of the import."""
        try:
            result, reason, size = yield from steps
            self._report(problem, result, reason, self._place(problem), size)
        except Failure as failure:
            if failure.code == IO:
                raise
            self._report(problem, "refused", failure.message, self._place(problem))

    # --- KernelBench.

    def _module_steps(self, problem, answer, size_set):
        yield from ()
        inspected, folder = module.read(answer), self._place(problem)
        files = {_MODULE: read_regular(problem.path)}
        if self._tasks.is_done(folder, files):
            return "kept", "", 0
        names = self._names(problem, sets.MODULES, size_set)
        task = document.module_task(names, inspected, _MODULE)
        self._tasks.write_files(folder, files)
        return "imported", "", self._tasks.write(folder, task)

    def modules(self, checkout, problems):
        dtype, size_set = self._request["dtype"], self._request["set"]
        answers = module.inspect(problems, self._python, dtype, self._jobs,
                                 is_stopped=self.is_stopped)
        size_set = size_set or sets.git_tag(self._request["checkout"]) or sets.size_tag(checkout)
        size_set += f"-{dtype}" if dtype else ""
        self.set = f"kernelbench-{size_set}"
        run_all([self._steps(problem, self._module_steps(problem, answers[problem.id], size_set))
                 for problem in problems], 1, self.is_stopped)

    # --- KernelBench-CUDA.

    def _driver_files(self, problem):
        """(the launch's declaration, what to know of it, files): the unchanged driver and the
        launch that captures its arguments."""
        text = read_regular(problem.path / "driver.cpp")
        declared = launch.find_declaration(text.decode("latin-1"))
        files = {"driver.cpp": text, "launch.inc": declared.capturing_definition().encode()}
        if not (problem.path / "init.cu").exists():
            return declared, "", files
        init = launch.init_source(read_regular(problem.path / "init.cu").decode("latin-1"))
        files["init/init.cu"] = init.encode("latin-1")
        files["init/candidate.toml"] = _CANDIDATE.encode()
        return *launch.match(declared, launch.find_definitions(init)), files

    def _driver_steps(self, problem, size_set):
        declared, note, files = self._driver_files(problem)
        folder = self._place(problem)
        if self._tasks.is_done(folder, files):
            return "kept", "", 0
        self._tasks.write_files(folder, files)
        outcome = yield Work(lambda: driver.describe(folder, self._precompiled), self._limit, True)
        described = driver.read(driver.told_by(outcome, self._limit))
        names = self._names(problem, sets.DRIVERS, size_set)
        task = document.driver_task(names, described, declared)
        note = [note, "no torch baseline: no KernelBench checkout was given"]
        if self._pairs is not None:
            note[1] = yield from self._pair(problem, described, folder, task)
        size = self._tasks.write(folder, task)
        return "imported", "; ".join(filter(None, note)), size

    def _pair(self, problem, described, folder, task):
        """Adds the paired module to the task and its file to the folder; returns what there is to
        say: why there is no torch baseline (which the task's origin then says, too)."""
        origin = task["origin"] + "; "
        try:
            paired, options = yield from self._chosen(problem, described, folder, task)
        except Failure as failure:
            (folder / _MODULE).unlink(missing_ok=True)
            text = "no torch baseline: " + failure.message
            task["origin"] = origin + text
            return text
        task["reference"]["sources"].append(_MODULE)
        task["reference"]["options"] = options
        task["baselines"] = ["torch-best"]
        task["origin"] = (f"{origin}torch baseline: KernelBench {paired.id}, the same extents and "
                          "outputs")
        return ""

    def _chosen(self, problem, described, folder, task):
        paired, answer = self._pairs.get((problem.level, problem.number), (None, None))
        if paired is None:
            raise Failure(BAD_INPUT, "KernelBench has no problem of this number")
        try:
            inspected = module.read(answer)
        except Failure as failure:
            raise Failure(BAD_INPUT, f"its module does not load: {failure.message}") from None
        options = [options_of(binding, described, task["tensors"], _MODULE)
                   for binding in bindings(inspected, described)]
        self._tasks.write_files(folder, {_MODULE: read_regular(paired.path)})

        def choose():
            from warpsmith_import import pair
            return pair.choose(folder, task["tensors"], task["tolerance"], options)

        answer = driver.told_by((yield Work(choose, self._limit, True)), self._limit)
        index = answer.get("binding")
        if type(index) is not int or not 0 <= index < len(options):
            raise Failure(BAD_INPUT, "its process chose no binding")
        return paired, options[index]

    def _load_pairs(self, folder, problems):
        """The modules of a checkout that have one of the problems' numbers."""
        checkout = sets.open_checkout(folder)
        if checkout.kind != sets.MODULES:
            raise Failure(BAD_INPUT, f"{folder}: no KernelBench checkout",
                          "give the one that holds level1/19_ReLU.py to --python")
        wanted = {(problem.level, problem.number) for problem in problems}
        picked = [problem for problem in checkout.problems
                  if (problem.level, problem.number) in wanted]
        answers = module.inspect(picked, self._python, None, self._jobs,
                                 is_stopped=self.is_stopped)
        self._pairs = {(problem.level, problem.number): (problem, answers[problem.id])
                       for problem in picked}

    def _is_done(self, problem):
        try:
            return self._tasks.is_done(self._place(problem), self._driver_files(problem)[-1])
        except Failure:
            return True

    def _precompile(self):
        folder = tempfile.mkdtemp()
        outcome = yield Work(lambda: driver.precompile(folder), 360, True)
        if outcome.answer == {} and not outcome.timed_out and not outcome.signal:
            self._precompiled = folder  # drivers compile without it, too

    def drivers(self, problems):
        name = self._request["set"]
        self.set = "kernelbench-cuda" + (f"-{name}" if name else "")
        if self._request["modules"]:
            self._load_pairs(self._request["modules"], problems)
        # Half a minute, and worth it from the third driver on.
        if len(problems) > 2 and not all(self._is_done(problem) for problem in problems):
            run_all([self._precompile()], 1, self.is_stopped)
        size_set = name if name not in ("", "drivers") else "of its drivers"
        run_all([self._steps(problem, self._driver_steps(problem, size_set))
                 for problem in problems], self._jobs, self.is_stopped)

    def run(self):
        request = self._request
        sets.check_set_name(request["set"])
        checkout, only = sets.open_checkout(request["checkout"]), request["only"]
        problems = [problem for problem in checkout.problems
                    if not only or any(map(problem.is_picked_by, only))]
        if not problems:
            raise Failure(USAGE, f"--only picks none of {len(checkout.problems)} problems",
                          f"write it like level1, level1/19 or {checkout.problems[0].id}")
        if request["dtype"] and checkout.kind != sets.MODULES:
            raise Failure(USAGE, "--dtype: these drivers have element types of their own",
                          "leave it out; it is for KernelBench's modules")
        make_folder(request["output"])  # before minutes of work for a folder that cannot be
        if checkout.kind == sets.MODULES:
            self.modules(checkout, problems)
        else:
            self.drivers(problems)
        for pattern in only:  # a row for each that picks nothing, which may be a slip of the pen
            if not any(problem.is_picked_by(pattern) for problem in problems):
                self._report(pattern, "refused", "--only picks no problem of this checkout")
        unpicked = [row for key, row in self._rows.items() if isinstance(key, str)]
        return [self._rows[problem] for problem in problems] + unpicked


def main(socket, number, request):
    """`number`: the socket's descriptor."""
    children.private.add(number)
    work = _Import(socket, number, request)
    try:
        socket.send({"rows": work.run(), "set": work.set})
    except Failure as failure:
        socket.send({"error": failure.message, "fix": failure.fix, "code": failure.code})
    except (children.Stopped, FrameError, BrokenPipeError):
        pass  # nobody hears us any more
