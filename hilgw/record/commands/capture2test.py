"""`hilgw capture2test FILE`: a recording as a test of pytest."""

import argparse
import os
import re
import shlex
import tempfile
from itertools import zip_longest
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hilgw.cli.declaration import Command, Option
from hilgw.errors import HilgwError, UsageError
from hilgw.record.commands.reading import FILE, opened

if TYPE_CHECKING:
    from hilgw.config.model import GatewayConfig
    from hilgw.record.recording import Recording


COMMANDS = {
    "capture2test": Command(
        description="Writes a pytest module of a recorded run, and next to it the part of the "
        "recording that it needs: the recording plays the hardware, and the test asserts which "
        "frames and packets hilgw sends and which commands the program gives. The run is done "
        "again first, in simulated time, with its programs: a run that does not repeat is refused.",
        epilog="examples: hilgw capture2test run.pcapng && pytest test_run.py\n"
        "          hilgw capture2test run.pcapng --firmware build/node.elf --machine uno\n"
        "          hilgw capture2test run.pcapng --output tests/test_antenna.py",
        options=(
            FILE,
            Option(
                "-o",
                "--output",
                metavar="FILE.py",
                type=Path,
                help="default: test_NAME.py in this folder",
            ),
            Option(
                "--firmware",
                metavar="FILE.elf",
                help="the test plays hilgw's side of one line against this firmware on an "
                "emulated board",
            ),
            Option("--machine", default="uno", help="the board of --firmware (default uno)"),
            Option("--part", help="the line of --firmware (default: the only one)"),
            Option("--force", action="store_true", help="replace files that are there"),
        ),
    ),
}


def run(args: argparse.Namespace) -> int:
    """Write the test; return 0.

    Raises:
      HilgwError: the recording cannot become a test; nothing was written.
    """
    from hilgw.assemble.again import again
    from hilgw.cli.output import files
    from hilgw.config.load import given
    from hilgw.config.shipped import folder as shipped
    from hilgw.record.capture import PROVES, module, shortened

    target = args.output or Path("test_" + re.sub(r"\W", "_", args.file.stem, flags=re.A) + ".py")
    if not re.fullmatch(r"test_\w+\.py", target.name, flags=re.A):
        raise UsageError(f"--output {target}: pytest finds tests by names like test_antenna.py")
    played = target.with_suffix(".pcapng")
    made = (target,) if args.firmware else (target, played)
    for path in () if args.force else made:
        files.expect_new(path, "name another with --output, or replace it with --force")
    recording = opened(args.file)
    if args.firmware is not None:
        return _of_firmware(args, target, recording)
    events, here = list(recording.events()), target.absolute().parent
    _demand_whole(recording, events)
    config = Path(str(recording.head.get("config")))
    if config.parent == shipped() or not config.parent.is_dir():
        config = here / config.name
    head = {**recording.head, "config": config.name}  # the path is of the machine that recorded
    overrides = given(recording.head)
    with tempfile.TemporaryDirectory(prefix="hilgw-test-") as folder:
        file = Path(folder, "run.pcapng")
        file.write_bytes(shortened(head, events))
        story = again(file, config.parent, overrides)
    _demand_same(args.file, story.recorded.streams(), story.streams())
    way, more = os.path.relpath(config.parent, here), [f"overrides={dumps(overrides)}"]
    arguments = [f"folder=RECORDING.parent / {dumps(way)}"] * (way != ".") + more * bool(overrides)
    text = module(target.stem, recording.head, story.recorded, arguments, story.departures)
    with files.output(played) as recorded, files.output(target) as written:
        recorded.write_bytes(shortened(head, events, story.parts))
        written.write_text(text, encoding="utf-8")
    print(f"wrote {target} and {played.name}; run: pytest {shlex.quote(str(target))}")
    print(*PROVES, sep="\n")
    return 0


def _of_firmware(args: argparse.Namespace, target: Path, recording: "Recording") -> int:
    from hilgw.cli.output import files
    from hilgw.config.load import recorded
    from hilgw.record.capture import firmware_module
    from hilgw.record.script import scripts_of

    config, scripts = recorded(recording.head), scripts_of(args.file)
    framings = {name: each for name, each in _framings(config).items() if name in scripts}
    part = args.part or ("" if len(framings) != 1 else next(iter(framings)))
    if part not in framings:
        problem = f"--part {part or 'is missing'}: which line with packets the firmware is on"
        fix = f"--part is one of {', '.join(framings)}" if framings else "record such a line"
        raise UsageError(problem, fix=fix)
    text = firmware_module(
        target.stem,
        scripts[part],
        framings[part],
        (args.firmware, args.machine, args.file.name),
        changes=part not in config.adapters,
    )
    with files.output(target) as written:
        written.write_text(text, encoding="utf-8")
    print(f"wrote {target}; run: pytest {shlex.quote(str(target))}")
    return 0


def _framings(config: "GatewayConfig") -> dict[str, str]:
    from hilgw.adapters._common.framing_settings import short_name_of
    from hilgw.adapters.declaration import Framed
    from hilgw.config.queries import is_on_line
    from hilgw.plugins import BODIES, CONTROLLERS, load

    framings = {
        name: short_name_of(each.settings.framing)
        for name, each in config.adapters.items()
        if isinstance(each.settings, Framed) and each.settings.is_framed
    }
    framings |= {
        f"{robot}.{key}": load(CONTROLLERS if key == "controller" else BODIES, part.kind).framing
        for robot, each in config.robots.items()
        for key, part in each.parts.items()
        if is_on_line(part.settings)
    }
    return {name: framing for name, framing in framings.items() if framing}


def _demand_whole(recording: "Recording", events: list[dict[str, Any]]) -> None:
    if recording.error is not None:
        raise recording.error
    states = {event["name"]: event["state"] for event in reversed(events) if "state" in event}
    has_bytes = any(event["event"] == "bytes" for event in events)
    checks = {
        "ends within an event, as after a kill: the rest is missing": recording.truncated,
        "has no bytes of a line: there is no hardware to play": not has_bytes,
        "begins in the middle of a run": set(states.values()) != {"closed"},
    }
    for problem in (problem for problem, is_wrong in checks.items() if is_wrong):
        fix = "record the run from its start: hilgw FILE.yaml --record run.pcapng"
        raise HilgwError(problem, where=str(recording.path), fix=fix)


def _demand_same(file: Path, then: dict[str, list[Any]], now: dict[str, list[Any]]) -> None:
    for name in {**then, **now}:
        for index, (old, new) in enumerate(zip_longest(then.get(name, ()), now.get(name, ()))):
            if old != new:
                problem = (
                    f"does not repeat: {name}, number {index + 1} was {old!r}, and is now {new!r}"
                )
                fix = "its program depends on time, on chance, or on what is not recorded"
                raise HilgwError(problem, where=str(file), fix=fix)
