#!/usr/bin/env python3
"""Runs a command in a terminal and draws what is left on the screen as an SVG.

    terminal_svg.py -o demo.svg --shown ./demo --columns 120 --crop 81 -- warpsmith demo

The command gets a terminal of its own, so it prints its colours and its progress as for a person;
what a carriage return or an erased line took away is not drawn. The picture brings its own dark
background, so it reads the same on a light page and on a dark one. Its text is text: it can be
selected and searched. The exit status is the command's.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import os
import pty
import re
import struct
import sys
import termios
from html import escape
from pathlib import Path

CELL_WIDTH, CELL_HEIGHT, MARGIN = 8.4, 19, 16  # px of a 14 px monospaced font
INK, PAPER, EDGE, PROMPT = "#d6deeb", "#0b1622", "#3b4a5a", "#7fdbca"
COLOURS = {31: "#ff6b6b", 32: "#5fd38d", 33: "#f2c55c", 34: "#82aaff", 35: "#c792ea",
           36: "#7fdbca", 37: "#d6deeb"}
# A control sequence, an operating system command (a title, a link), or another escape.
ESCAPE = re.compile(r"\x1b(?:\[([0-9;?]*)([A-Za-z])|\][^\x07\x1b]*(?:\x07|\x1b\\)|.)")


class Screen:
    """Lines of cells; a cell is a character and its style (colour, bold, dim)."""

    def __init__(self) -> None:
        self.lines: list[list[tuple[str, tuple]]] = [[]]
        self.row = self.column = 0
        self.style: tuple = (None, False, False)

    def put(self, character: str) -> None:
        line = self.lines[self.row]
        line.extend([(" ", (None, False, False))] * (self.column + 1 - len(line)))
        line[self.column] = (character, self.style)
        self.column += 1

    def set_style(self, codes: list[int]) -> None:
        colour, bold, dim = self.style
        for code in codes or [0]:
            if code == 0:
                colour, bold, dim = None, False, False
            elif code in (1, 2):
                bold, dim = bold or code == 1, dim or code == 2
            elif code == 22:
                bold = dim = False
            elif code == 39:
                colour = None
            elif code in COLOURS:
                colour = COLOURS[code]
        self.style = (colour, bold, dim)

    def control(self, arguments: str, name: str) -> None:
        numbers = [int(text) for text in arguments.split(";") if text.isdigit()]
        first = numbers[0] if numbers else 0
        line = self.lines[self.row]
        if name == "m":
            self.set_style(numbers)
        elif name == "K":
            self.lines[self.row] = [] if first == 2 else line[: self.column]
        elif name == "A":
            self.row = max(0, self.row - max(1, first))

    def write(self, text: str) -> None:
        at = 0
        while at < len(text):
            if match := ESCAPE.match(text, at):
                if match[2]:
                    self.control(match[1], match[2])
                at = match.end()
                continue
            character = text[at]
            at += 1
            if character == "\n":
                self.row, self.column = self.row + 1, 0
                self.lines += [[]] * (self.row + 1 - len(self.lines))
            elif character == "\r":
                self.column = 0
            elif character >= " ":
                self.put(character)

    def drawn(self) -> list[list[tuple[str, tuple]]]:
        """The lines up to the last that is not empty."""
        lines = list(self.lines)
        while lines and not "".join(cell[0] for cell in lines[-1]).strip():
            lines.pop()
        return lines


def runs(line: list[tuple[str, tuple]]) -> list[tuple[int, str, tuple]]:
    """(column, text, style) of a line: a run ends where the style does, or at two spaces."""
    found: list[tuple[int, str, tuple]] = []
    for column, (character, style) in enumerate(line):
        if found and found[-1][2] == style and found[-1][0] + len(found[-1][1]) == column:
            found[-1] = (found[-1][0], found[-1][1] + character, style)
        elif character != " ":
            found.append((column, character, style))
    return [(column + match.start(), match[0], style) for column, text, style in found
            for match in re.finditer(r"\S+(?: \S+)*", text)]


def cropped(line: list[tuple[str, tuple]], columns: int) -> list[tuple[str, tuple]]:
    """The line's first columns, with a mark where a word or a sentence is cut."""
    if len(line) <= columns or all(cell[0] == " " for cell in line[columns - 2: columns]):
        return line[:columns]
    return line[: columns - 1] + [("…", (None, False, True))]


def draw(lines: list[list[tuple[str, tuple]]], shown: str, columns: int) -> str:
    width = round(columns * CELL_WIDTH + 2 * MARGIN)
    height = (len(lines) + 1) * CELL_HEIGHT + 2 * MARGIN
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
           f'width="{width}" height="{height}" role="img" '
           f'aria-label="{escape(shown, quote=True)} in a terminal">',
           "<style>text { font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, "
           "'DejaVu Sans Mono', monospace; white-space: pre }</style>",
           f'<rect x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="8" '
           f'fill="{PAPER}" stroke="{EDGE}"/>']

    words = [(0, 0, "$", (PROMPT, True, False)), (0, 2, shown, (INK, True, False))]
    words += [(row, *run) for row, line in enumerate(lines, 1) for run in runs(line)]
    for row, column, text, (colour, bold, dim) in words:
        marks = (' font-weight="bold"' if bold else "") + (' opacity="0.7"' if dim else "")
        out.append(f'<text x="{MARGIN + column * CELL_WIDTH:.1f}" '
                   f'y="{MARGIN + row * CELL_HEIGHT + 14}" fill="{colour or INK}" '
                   f'textLength="{len(text) * CELL_WIDTH:.1f}"{marks}>{escape(text)}</text>')
    return "\n".join(out) + "\n</svg>\n"


def run(command: list[str], columns: int) -> tuple[str, int]:
    """What the command wrote to a terminal of so many columns, and its exit status."""
    child, terminal = pty.fork()
    if child == 0:
        os.environ.pop("NO_COLOR", None)
        os.environ["TERM"] = "xterm-256color"
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
        os.execvp(command[0], command)
    written = b""
    with contextlib.suppress(OSError):  # the other end was closed
        while chunk := os.read(terminal, 65536):
            written += chunk
    return written.decode(errors="replace"), os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--shown", help="the command line in the picture; default: the command")
    parser.add_argument("--columns", type=int, default=100)
    parser.add_argument("--lines", type=int, default=40, help="of the output, from its beginning")
    parser.add_argument("--crop", type=int, help="draw so many columns; default: all")
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    written, status = run(options.command, options.columns)
    screen = Screen()
    screen.write(written)
    lines = screen.drawn()
    if len(lines) > options.lines:
        lines = lines[: options.lines] + [[("…", (None, False, True))]]
    columns = options.crop or options.columns
    lines = [cropped(line, columns) for line in lines]
    options.output.parent.mkdir(parents=True, exist_ok=True)
    shown = options.shown or " ".join(options.command)
    options.output.write_text(draw(lines, shown, columns))
    return status


if __name__ == "__main__":
    sys.exit(main())
