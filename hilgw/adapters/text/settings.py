"""Settings of a module that is spoken to in text, and the checks that take more than one field."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from hilgw.adapters._common.routes import ByDestination, ByHeader, OneChannel, check_mapping
from hilgw.adapters.base import Problem, StationSettings
from hilgw.adapters.text.patterns import checked, compiled_head, split_at_data
from hilgw.errors import ConfigError
from hilgw.settings import setting

LONGEST_LINE = 1024
PLACES = ("data", "hex", "length", "destination")
_PLACE = re.compile(rf"\{{({'|'.join(PLACES)})\}}")
_LIKE_A_PLACE = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One thing said to the module, and the lines that answer it."""

    send: str = setting("what is said, without the line's end; empty: only listen", "")
    expect: str = setting("pattern of the line that means good; empty: nothing is waited for", "")
    failed: str = setting("pattern of the line that means it failed; empty: none does", "")
    timeout_s: float = setting("how long to wait for it", 1.0, gt=0, le=300, unit="s")
    tries: int = setting("how often it is said until an answer comes", 1, ge=1, le=20)


@dataclass(frozen=True, slots=True, kw_only=True)
class TextSettings:
    """What a text module needs beside what every station has. Patterns are regular expressions
    (Python's) for one line."""

    send: tuple[Step, ...] = setting(
        "what sends a packet: steps, in which {data} stands for its bytes, {hex} for them in hex "
        "digits, {length} for their number (of bytes), {destination} for the address; it is "
        "delivered when all have succeeded"
    )
    receive: str = setting(
        "pattern of a line that brings a packet, with the groups (?P<data>...) or (?P<hex>...), "
        "and if there are (?P<source>...), (?P<rssi>...) in dBm, and (?P<length>...) before the "
        "data: then so many bytes are taken, whatever they are",
        example=r"\+RCV=(?P<source>\d+),(?P<length>\d+),(?P<data>.*),(?P<rssi>-?\d+),(?P<snr>-?\d+)",
    )
    setup: tuple[Step, ...] = setting("what prepares the module", ())
    listen: tuple[Step, ...] = setting(
        "what makes the module receive, where that has to be said: after setup, after each packet "
        "sent or received, and after a line like `listen_on`",
        (),
    )
    listen_on: str = setting("pattern of a line after which it has to be told to listen", "")
    restarted: str = setting("pattern of a line that the module says when it has restarted", "")
    ignore: str = setting("pattern of lines that mean nothing; others are counted", "")
    line_end: str = setting("what ends a line, both ways", "\r\n", example="\r")
    longest_line: int = setting(
        "a line (with its data) from the module, at most", 1024, ge=16, le=LONGEST_LINE, unit="byte"
    )
    longest_packet: int = setting("what one packet may have", 64, ge=1, le=1024, unit="byte")
    pause_s: float = setting("silence after each packet sent", 0.0, ge=0, le=3600, unit="s")
    mapping: OneChannel | ByDestination | ByHeader = setting(
        "how a Webots channel maps to the module", OneChannel()
    )
    destination: str = setting("address that gets the packets, for {destination}", "0")
    to_all: str = setting("address of all modules, for channel -1", "0")
    name: str = setting("what the module is called, for people", "text module")
    mock: dict[str, Any] = setting(
        "parameters of the module that stands in with backend mock "
        "(`hilgw mock text_module --list`)",
        default_factory=dict,
    )


def steps_of(settings: TextSettings) -> Iterator[tuple[str, Step]]:
    """Every step and its place."""
    for name in ("setup", "send", "listen"):
        for index, step in enumerate(getattr(settings, name)):
            yield f"{name}.{index}", step


def places_in(text: str) -> list[str]:
    return _PLACE.findall(text)


def filled(text: str, values: dict[str, bytes]) -> bytes:
    """The text with its places filled; what is filled in is not looked at again."""
    parts = _PLACE.split(text)
    return b"".join(
        values.get(part, b"") if index % 2 else part.encode("utf-8", "surrogateescape")
        for index, part in enumerate(parts)
    )


def check(settings: TextSettings, common: StationSettings) -> list[Problem]:
    """What is wrong between fields, each with its place and its cure."""
    problems = _check_patterns(settings) + _check_steps(settings)
    mapping = settings.mapping
    said = {place for step in settings.send for place in places_in(step.send)}
    problems += check_mapping(mapping, common.channel)
    if isinstance(mapping, ByDestination) and "destination" not in said:
        fix = "say it, or use mapping: {by: channel}"
        problems.append(("send", "no step says {destination}", fix))
    if not {"data", "hex"} & said:
        problems.append(("send", "no step sends the packet", "put {data} or {hex} into one"))
    if not settings.line_end:
        problems.append(("line_end", "a line must have an end", r'use "\r\n", "\n" or "\r"'))
    return problems


def _check_patterns(settings: TextSettings) -> list[Problem]:
    problems: list[Problem] = []
    named = [(name, getattr(settings, name)) for name in ("listen_on", "restarted", "ignore")]
    for path, step in steps_of(settings):
        named += [(f"{path}.expect", step.expect), (f"{path}.failed", step.failed)]
    for path, text in named:
        try:
            checked(text)
        except ConfigError as error:
            problems.append((path, error.what, error.fix))
    try:
        _check_receive(settings.receive)
    except ConfigError as error:
        problems.append(("receive", error.what, error.fix))
    return problems


def _check_receive(text: str) -> None:
    parts = split_at_data(text)
    if parts is not None:
        compiled_head(parts[0])
        checked(parts[1])
        return
    checked(text)
    groups = compiled_head(text).groupindex
    if not {"data", "hex"} & groups.keys():
        fix = "name what is the packet: (?P<data>...) or (?P<hex>[0-9A-Fa-f]+)"
        raise ConfigError(f"{text!r} has no data", fix=fix)


def _check_steps(settings: TextSettings) -> list[Problem]:
    problems: list[Problem] = []
    for path, step in steps_of(settings):
        strange = [place for place in _LIKE_A_PLACE.findall(step.send) if place not in PLACES]
        places = places_in(step.send)
        if strange and path.startswith("send"):
            listed = ", ".join(f"{{{place}}}" for place in PLACES)
            problems.append((f"{path}.send", f"{{{strange[0]}}} is unknown", f"there is {listed}"))
        if places and not path.startswith("send"):
            what = f"{{{places[0]}}} is of a packet, and here is none"
            problems.append((f"{path}.send", what, "only steps of send have one"))
        if not step.send and not step.expect:
            problems.append((path, "it says nothing and waits for nothing", "give send or expect"))
    if not settings.send or not settings.send[0].send:
        problems.append(("send", "the first step says nothing", "give it a `send`"))
    elif len(settings.send) > 1 and not settings.send[0].expect:
        what = "the first of several steps waits for nothing"
        problems.append(("send.0", what, "give it an `expect`"))
    return problems
