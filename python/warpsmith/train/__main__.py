"""python -m warpsmith.train: data for training, and what a trained model is worth. Exit statuses are the program's."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from warpsmith._program import Error
from warpsmith.train import data, evaluate


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m warpsmith.train", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    data.add_command(commands)
    evaluate.add_command(commands)
    options = parser.parse_args(arguments)
    try:
        return int(options.run(options))
    except Error as error:
        print(f"warpsmith.train: {error}", file=sys.stderr)
        return error.exit_status
    except ImportError as error:
        needed = Path(__file__).with_name("requirements.txt")
        print(f"warpsmith.train: {error.name} is missing: pip install -r {needed}", file=sys.stderr)
        return 69
    except BrokenPipeError:
        return 74
    except OSError as error:
        print(f"warpsmith.train: {error.filename}: {error.strerror}", file=sys.stderr)
        return 74


if __name__ == "__main__":
    sys.exit(main())
