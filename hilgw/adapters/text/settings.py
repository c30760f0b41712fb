"""Settings of a module with text commands, and the checks that take more than one field."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from hilgw.adapters.declaration import (
    ByDestination,
    ByHeader,
    HasMapping,
    OneChannel,
    Problem,
    StationSettings,
    check_mapping,
)
from hilgw.errors import ConfigError
from hilgw.protocols.text.patterns import (
    LONGEST_LINE,
    Step,
    compiled,
    compiled_head,
    pattern_problems,
    split_at_data,
)
from hilgw.settings import setting

PLACEHOLDERS = ("data", "hex", "length", "destination")
_PLACEHOLDER = re.compile(rf"\{{({'|'.join(PLACEHOLDERS)})\}}")
_ANY_PLACEHOLDER = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class TextSettings(HasMapping):
    """Settings of a text module, besides those of every adapter.

    Patterns are regular expressions (Python's, without lookaround and backreferences) for one line.
    """

    send: tuple[Step, ...] = setting(
        "steps that send a packet: {data} is replaced by its bytes, {hex} by its bytes in hex "
        "digits, {length} by the number of bytes, {destination} by the address; the packet is "
        "delivered when all steps have succeeded"
    )
    receive: str = setting(
        "pattern of a received packet's line, with the group (?P<data>...) or (?P<hex>...), and "
        "optionally (?P<source>...), (?P<rssi>...) in dBm, and (?P<length>...) before the data: "
        "then the data are this many bytes, whatever they contain",
        example=r"\+RCV=(?P<source>\d+),(?P<length>\d+),(?P<data>.*),(?P<rssi>-?\d+),(?P<snr>-?\d+)",
    )
    setup: tuple[Step, ...] = setting("steps that configure the module", ())
    listen: tuple[Step, ...] = setting(
        "steps that make the module receive, if it needs a command for that: after setup, after "
        "each packet sent or received, and after a line that matches `listen_on`",
        (),
    )
    listen_on: str = setting("pattern of a line after which `listen` is needed again", "")
    restarted: str = setting("pattern of the line the module sends after a restart", "")
    ignore: str = setting("pattern of lines to ignore; other unexpected lines are counted", "")
    line_end: str = setting("line end, in both directions", "\r\n", example="\r")
    longest_line: int = setting(
        "longest line from the module, with its data", 1024, ge=16, le=LONGEST_LINE, unit="byte"
    )
    longest_packet: int = setting("longest packet to send", 64, ge=1, le=1024, unit="byte")
    pause_s: float = setting("pause after each packet sent", 0.0, ge=0, le=3600, unit="s")
    mapping: OneChannel | ByDestination | ByHeader = setting(
        "how a Webots channel maps to the module", OneChannel()
    )
    destination: str = setting("address the packets are sent to, for {destination}", "0")
    to_all: str = setting("address of all modules, for channel -1", "0")
    name: str = setting("name of the module in messages", "text module")
    mock: dict[str, Any] = setting(
        "parameters of the mock module (`hilgw mock text_module --list`)",
        default_factory=dict,
    )


def steps_of(settings: TextSettings) -> Iterator[tuple[str, Step]]:
    """Yield each step and its path."""
    for name in ("setup", "send", "listen"):
        for index, step in enumerate(getattr(settings, name)):
            yield f"{name}.{index}", step


def placeholders_in(text: str) -> list[str]:
    return _PLACEHOLDER.findall(text)


def filled(text: str, values: dict[str, bytes]) -> bytes:
    """Return the text with its placeholders replaced; placeholders in the values are left alone."""
    parts = _PLACEHOLDER.split(text)
    return b"".join(
        values.get(part, b"") if index % 2 else part.encode("utf-8", "surrogateescape")
        for index, part in enumerate(parts)
    )


def check(settings: TextSettings, common: StationSettings) -> Iterator[Problem]:
    """Yield the problems between fields: path below the adapter, message, fix."""
    yield from _check_patterns(settings)
    yield from _check_steps(settings)
    mapping = settings.mapping
    used = {name for step in settings.send for name in placeholders_in(step.send)}
    yield from check_mapping(mapping, common.channel)
    if isinstance(mapping, ByDestination) and "destination" not in used:
        fix = "add it to a step, or use mapping: {by: channel}"
        yield "send", "no step contains {destination}", fix
    if not {"data", "hex"} & used:
        yield "send", "no step sends the packet", "add {data} or {hex} to a step"
    if not settings.line_end:
        yield "line_end", "is empty", r'use "\r\n", "\n" or "\r"'


def _check_patterns(settings: TextSettings) -> list[Problem]:
    named = [(name, getattr(settings, name)) for name in ("listen_on", "restarted", "ignore")]
    problems = pattern_problems(named, whole=False)
    for path, step in steps_of(settings):
        answers = [(f"{path}.expect", step.expect), (f"{path}.failed", step.failed)]
        problems += pattern_problems(answers, whole=True)
    try:
        _check_receive(settings.receive)
    except ConfigError as error:
        problems.append(("receive", error.what, error.fix))
    return problems


def _check_receive(text: str) -> None:
    parts = split_at_data(text)
    if parts is not None:
        compiled_head(parts[0])
        compiled(parts[1], whole=True)
        return
    if not {"data", "hex"} & set(compiled(text).groupindex):
        fix = "mark the packet's data: (?P<data>...) or (?P<hex>[0-9A-Fa-f]+)"
        raise ConfigError(f"{text!r} has no group for the data", fix=fix)


def _check_steps(settings: TextSettings) -> Iterator[Problem]:
    for path, step in steps_of(settings):
        unknown = [name for name in _ANY_PLACEHOLDER.findall(step.send) if name not in PLACEHOLDERS]
        known = placeholders_in(step.send)
        if unknown and path.startswith("send"):
            listed = ", ".join(f"{{{name}}}" for name in PLACEHOLDERS)
            yield f"{path}.send", f"{{{unknown[0]}}} is unknown", f"use {listed}"
        if known and not path.startswith("send"):
            problem = f"{{{known[0]}}} is only known while a packet is sent"
            yield f"{path}.send", problem, "use it in steps of send"
        if not step.send and not step.expect:
            yield path, "has neither send nor expect", "add send or expect"
    if not settings.send or not settings.send[0].send:
        yield "send", "the first step sends no command", "add `send` to it"
    elif len(settings.send) > 1 and not settings.send[0].expect:
        problem = "the first of several steps does not wait for an answer"
        yield "send.0", problem, "add `expect` to it"
