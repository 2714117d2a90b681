"""python -m warpsmith.formats: translates files. Exit statuses are the program's."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path

from warpsmith._judge import Verdict, verdict_from
from warpsmith._program import Error
from warpsmith._library import library_path
from warpsmith.formats import (
    files,
    flashinfer,
    gpumode,
    huggingface,
    kernel_tuner,
    kernelbench,
    recording,
)


def _verdicts(path: str) -> list[Verdict]:
    """Of a document that `warpsmith evaluate --json` printed."""
    document = files.mapping(path, files.read_json(path))
    if document.get("schema") != "warpsmith.evaluation" or document.get("version") != 1:
        raise files.bad(path, "is no warpsmith.evaluation of version 1")
    try:
        return [verdict_from(row) for row in document["verdicts"]]
    except (LookupError, TypeError, ValueError, AttributeError) as error:
        raise files.bad(path, f"is no whole evaluation: {error}") from None


def _t4_export(options: argparse.Namespace) -> None:
    for name in kernel_tuner.export(recording.read(options.recording), options.output):
        print(Path(options.output) / name)


def _t4_table(options: argparse.Namespace) -> None:
    rows = kernel_tuner.read(options.file)
    files.write_file(options.output, kernel_tuner.table(rows))
    timed = [row for row in rows if row.time_ms is not None]
    print(f"{options.output}: {len(rows)} configurations, {len(timed)} with a time")


def _import(options: argparse.Namespace) -> None:
    for note in flashinfer.import_definition(options.definition, options.workloads, options.output):
        print(f"left out: {note}", file=sys.stderr)
    print(f"{options.output}: see 'warpsmith task check {options.output}'")


def _solution(options: argparse.Namespace) -> None:
    named = (options.name, options.author, options.dialect)
    if options.candidate:
        document = flashinfer.solution(options.task, options.candidate, *named)
    else:
        document = flashinfer.gemm_solution(options.task, *named)
    files.write_file(options.output, files.dump(document))
    print(options.output)


def _traces(options: argparse.Namespace) -> None:
    lines = []
    for verdict in _verdicts(options.evaluation):
        workload = options.workload or next((one.workload for one in verdict.modes), "")
        if not workload:
            raise files.bad(options.evaluation, "a verdict names no workload", "give --workload")
        trace = flashinfer.trace(options.task, verdict, workload, options.solution)
        lines += [json.dumps(trace, allow_nan=False) + "\n"] if trace else []
        score = flashinfer.sol_score(verdict)
        print(f"{workload}: {verdict.outcome}" + (f", SOL-Score {score:.3f}" if score else ""))
    files.write_file(options.output, "".join(lines))


def _model_new(options: argparse.Namespace) -> None:
    text = kernelbench.model_new(options.task, options.candidate, architecture=options.arch)
    files.write_file(options.output, text)
    print(options.output)


def _eval_results(options: argparse.Namespace) -> None:
    verdicts = {}
    for entry in options.evaluations:
        problem, _, path = entry.partition("=")
        if not problem.isdigit() or not path:
            raise files.bad(entry, "expected PROBLEM=evaluation.json")
        verdicts[problem] = _verdicts(path)
    files.write_file(options.output, files.dump(kernelbench.eval_results(verdicts)))
    print(options.output)


def _gpumode_import(options: argparse.Namespace) -> None:
    gpumode.import_problem(options.problem, options.output)
    print(f"{options.output}: see 'warpsmith task check {options.output}'")


def _gpumode_submission(options: argparse.Namespace) -> None:
    text = gpumode.submission(options.task, options.candidate, options.leaderboard, options.gpu)
    files.write_file(options.output, text)
    print(options.output)


def _huggingface_kernel(options: argparse.Namespace) -> None:
    pack = options.pack or Path(options.library).parent / "warpsmith/gemm.wspack"
    for name in huggingface.export(options.library, pack, options.output, options.version,
                                   options.tvm_ffi, options.cuda):  # fmt: skip
        print(Path(options.output) / "build" / name)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m warpsmith.formats", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    def add(name: str, run: Callable[[argparse.Namespace], None], words: str,
            *arguments: str) -> argparse.ArgumentParser:  # fmt: skip
        command = commands.add_parser(name, help=words, description=words)
        for argument in arguments:
            command.add_argument(argument)
        command.add_argument("-o", "--output", required=True, help="what to write")
        command.set_defaults(run=run)
        return command

    add("t4-export", _t4_export, "a recording's spaces as Kernel Tuner's T4 and cache files",
        "recording")  # fmt: skip
    add("t4-table", _t4_table, "T4 results or a cache file of Kernel Tuner as CSV", "file")
    command = add("flashinfer-import", _import,
                  "a definition of FlashInfer Trace or SOL-ExecBench as a task",
                  "definition")  # fmt: skip
    command.add_argument("--workloads", help=".jsonl of workloads or traces")
    command = add("flashinfer-solution", _solution,
                  "a judged program as a solution; or the GEMM library, of a product's definition",
                  "task")  # fmt: skip
    command.add_argument("candidate", nargs="?", help="none: TASK is a product's definition.json")
    command.add_argument("--name", required=True)
    command.add_argument("--author", required=True)
    command.add_argument("--dialect", choices=flashinfer.DIALECTS, default="flashinfer")
    command = add("flashinfer-traces", _traces, "verdicts of 'evaluate --json' as traces", "task",
                  "evaluation")  # fmt: skip
    command.add_argument("--solution", required=True, help="the solution's name")
    command.add_argument("--workload", help="by name; default: what the verdict was timed on")
    command = add("kernelbench-model", _model_new, "a judged program as a ModelNew", "task",
                  "candidate")  # fmt: skip
    command.add_argument("--arch", default="", help="that it was judged for, such as sm_90a")
    command = add("kernelbench-results", _eval_results, "verdicts as eval_results.json")
    command.add_argument("evaluations", nargs="+", metavar="PROBLEM=evaluation.json")
    add("gpumode-import", _gpumode_import,
        "a gpu-mode problem (its folder or task.yml) as a task; runs its reference.py",
        "problem")  # fmt: skip
    command = add("gpumode-submission", _gpumode_submission,
                  "a judged program as a submission.py", "task", "candidate")  # fmt: skip
    command.add_argument("--leaderboard", required=True, help="the problem's name there")
    command.add_argument("--gpu", default="H100", help="default: H100")
    command = add("huggingface-kernel", _huggingface_kernel,
                  "the GEMM library with its pack as a repository of Hugging Face's kernels")  # fmt: skip
    command.add_argument("--library", default=library_path(), help="default: the wheel's own")
    command.add_argument("--pack", help="default: warpsmith/gemm.wspack beside the library")
    command.add_argument("--version", type=int, default=1, help="of the kernel; default: 1")
    command.add_argument("--tvm-ffi", default="0.1", help="of apache-tvm-ffi; default: 0.1")
    command.add_argument("--cuda", default="13.0", help="that users have at least; default: 13.0")
    return parser


def main(arguments: list[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    try:
        options.run(options)
    except Error as error:
        print(f"warpsmith.formats: {error}", file=sys.stderr)
        return error.exit_status
    except BrokenPipeError:
        return 74
    except OSError as error:
        print(f"warpsmith.formats: {error.filename}: {error.strerror}", file=sys.stderr)
        return 74
    return 0


if __name__ == "__main__":
    sys.exit(main())
