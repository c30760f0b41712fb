"""Draw docs/pictures/terminal.svg: commands that run while it is drawn, and what they print.

The gateways run in simulated time, so each run prints the same; the picture shows each line at the
time in front of it.
"""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from xml.sax.saxutils import escape

ROOT = Path(__file__).resolve().parent.parent
COLUMNS, ROWS = 92, 22
COLUMN_PX, ROW_PX = 8.4, 18
MOVIE_S = 30.0
RUN = "hilgw --config configs/uart.yaml"
# When a command begins, what it shows, and the command.
SCENES = (
    (0.5, "# A simulated robot and your board. Nothing is plugged in: a mock answers.",
     f"{RUN} --speed max --duration 6s"),
    (11.5, "# Nothing arrives? It shows why.",
     f"{RUN} --speed max --duration 1s --set robots.rover.devices.tx.channel=6"),
    (19.5, "# What is connected to what?", "hilgw explain configs/uart.yaml"),
)  # fmt: skip
TYPED_S, ANSWER_S = 0.5, 1.5  # after the remark comes the command, then what it prints
STAMP = re.compile(r"^ +(\d+\.\d{3})  ")
# How long the run took, and how many times real time that is, depends on the machine.
MACHINES = re.compile(r", in [\d.e-]+ m?s, [\d.e+]+ times real time")


def printed(command: str) -> list[str]:
    """Return the lines that the command prints, as wide as the screen."""
    program = [sys.executable, "-m", "hilgw", *shlex.split(command)[1:]]
    done = subprocess.run(
        program, cwd=ROOT, env=os.environ | {"COLUMNS": str(COLUMNS)}, check=True, timeout=60,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip
    lines = MACHINES.sub("", done.stdout).splitlines()
    return [part for line in lines for part in wrapped(line)]


def wrapped(line: str) -> list[str]:
    """Return the rows that a terminal makes of a line."""
    return [line[i : i + COLUMNS] for i in range(0, len(line), COLUMNS)] or [""]


def timed_lines() -> Iterator[tuple[float, str, str]]:
    """Yield when a line appears, the class of its text, and the line."""
    for start_s, remark, command in SCENES:
        yield start_s, "dim", remark
        for part in wrapped(f"$ {command}"):
            yield start_s + TYPED_S, "strong", part
        at_s = start_s + ANSWER_S
        for line in printed(command):
            if stamp := STAMP.match(line):
                at_s = max(at_s, start_s + ANSWER_S + float(stamp[1]))
            yield at_s, "", line
        yield at_s, "", ""


def movie(style: str) -> str:
    """Return the file; without animation it shows the first rows."""
    lines = list(timed_lines())
    width, height = (COLUMNS + 4) * COLUMN_PX, (ROWS + 2) * ROW_PX
    times = sorted({at_s for at_s, _, _ in lines})
    rules = [f"@keyframes at{i} {{ 0% {{ opacity: 0 }} {percent(at_s)} {{ opacity: 1 }} }}"
             for i, at_s in enumerate(times)]  # fmt: skip
    scrolls = []
    for at_s in times:
        beyond = sum(time <= at_s for time, _, _ in lines) - ROWS
        if beyond > 0:
            scrolls.append(f"{percent(at_s)} {{ transform: translateY({-beyond * ROW_PX}px) }}")
    rules.append(f"@keyframes scroll {{ 0% {{ transform: none }} {' '.join(scrolls)} }}")
    rules.append(f"text, .scroll {{ animation: {MOVIE_S:g}s step-end infinite }}")
    # The names follow the shorthand, which resets them.
    rules += [f".at{i} {{ animation-name: at{i} }}" for i in range(len(times))]
    rules.append(".scroll { animation-name: scroll }")
    texts = [
        f'<text class="{f"at{times.index(at_s)} {kind}".strip()}" x="{2 * COLUMN_PX:g}" '
        f'y="{(row + 0.7) * ROW_PX:g}" textLength="{len(line) * COLUMN_PX:g}" '
        f'xml:space="preserve">{escape(line)}</text>'
        for row, (at_s, kind, line) in enumerate(lines)
        if line
    ]
    motion = "@media (prefers-reduced-motion: no-preference) {\n" + "\n".join(rules) + "\n}"
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
        f'width="{width:g}" height="{height:g}" role="img">\n<title>hilgw in a terminal, '
        f"{MOVIE_S:g} seconds</title>\n<style>\n{style}\n{motion}\n</style>\n"
        f'<g class="box"><rect x="2" y="2" width="{width - 4:g}" height="{height - 4:g}" rx="8"/>'
        f'</g>\n<svg class="box" y="{ROW_PX}" width="{width:g}" height="{ROWS * ROW_PX}">\n'
        f'<g class="scroll">\n' + "\n".join(texts) + "\n</g>\n</svg>\n</svg>\n"
    )


def percent(at_s: float) -> str:
    """Return a time as a part of the whole."""
    return f"{100 * at_s / MOVIE_S:.2f}%"
