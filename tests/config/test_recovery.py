"""What stands behind the first mistake of a mapping is said in the same run."""

from __future__ import annotations

from collections.abc import Callable

import pytest

Lines = Callable[..., list[str]]


def config(adapter: str) -> str:
    return f"version: 1\nadapters:\n  c: {{kind: xbee, port: /dev/ttyS9, {adapter}}}\n"


@pytest.mark.parametrize(
    ("adapter", "places"),
    [
        ("channel: 99, buadRate: 9600", {"channel", "buadRate"}),
        ("chanel: 99", {"chanel", "channel"}),  # looked at as what it was meant to be
        ("channel: 99, fo: 1, rtscts: 010", {"channel", "fo", "rtscts"}),
        ("channel: 99, pan_id: 0x1FFFF", {"channel", "pan_id"}),
        ("channel: 99, buadRate: 3", {"channel", "buadRate"}),
        # What these mean for the channel is not known, so nothing is said of it.
        ("channel: 99, mapping: {by: heade}", {"mapping.by"}),
        ("channel: 99, maping: {by: header}", {"maping"}),
        ("channel: 12, maping: {by: header}, mapping: {by: module_channel}", {"maping"}),
        # A number that is out of range is not missing as well.
        ("channel: -5", {"channel"}),
        ("buadRate: 9600", {"buadRate", "channel"}),
    ],
)
def test_all_in_one_run(errors: Lines, adapter: str, places: set[str]) -> None:
    said = errors(config(adapter))
    paths = [line.split(" ")[1].removesuffix(":") for line in said]
    assert sorted(paths) == sorted(f"adapters.c.{place}" for place in places), said


def test_a_misspelt_key_is_looked_at_where_it_stands(errors: Lines) -> None:
    text = config("chanel: 99")
    first, second = errors(text)
    line = text.splitlines()[2]
    assert first.startswith(f"f:3:{line.index('chanel') + 1}: adapters.c.chanel: unknown key")
    assert second.startswith(
        f"f:3:{line.index('99') + 1}: adapters.c.channel: 99 is not a valid XBee"
    )
