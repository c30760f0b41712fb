"""One run reports all errors of a mapping; those between its keys wait until each key is valid."""

from __future__ import annotations

from collections.abc import Callable

import pytest

Lines = Callable[..., list[str]]


def config(adapter: str) -> str:
    return f"version: 1\nadapters:\n  c: {{kind: xbee, port: /dev/ttyS9, {adapter}}}\n"


@pytest.mark.parametrize(
    ("adapter", "keys"),
    [
        ("channel: 99", {"channel"}),  # the range of the channel depends on other keys
        ("channel: 99, buadRate: 9600", {"buadRate"}),
        ("chanel: 99", {"chanel"}),
        ("channel: 99, fo: 1, rtscts: 010", {"fo", "rtscts"}),
        ("channel: 99, pan_id: 0x1FFFF", {"pan_id"}),
        ("channel: -5, fo: 1, pan_id: 0x1FFFF", {"channel", "fo", "pan_id"}),
        ("channel: 99, mapping: {by: heade}", {"mapping.by"}),
        ("channel: 99, maping: {by: header}", {"maping"}),
        ("channel: 12, maping: {by: header}, mapping: {by: module_channel}", {"maping"}),
        ("channel: -5", {"channel"}),
        ("buadRate: 9600", {"buadRate"}),
    ],
)
def test_all_in_one_run(errors: Lines, adapter: str, keys: set[str]) -> None:
    lines = errors(config(adapter))
    paths = [line.split(" ")[1].removesuffix(":") for line in lines]
    assert sorted(paths) == sorted(f"adapters.c.{key}" for key in keys), lines


def test_other_mappings_are_checked_next_to_a_wrong_one(errors: Lines) -> None:
    text = config("channel: 99, buadRate: 9600") + "  d: {kind: xbee, port: /dev/b, channel: 99}\n"
    first, second = errors(text)
    assert ": adapters.c.buadRate: unknown key; did you mean" in first
    assert ": adapters.d.channel: 99 is not a valid XBee" in second


def test_a_misspelt_key_is_reported_at_its_position(errors: Lines) -> None:
    text = config("chanel: 99")
    (line,) = errors(text)
    column = text.splitlines()[2].index("chanel") + 1
    assert line.startswith(f"f:3:{column}: adapters.c.chanel: unknown key; did you mean 'channel'?")
