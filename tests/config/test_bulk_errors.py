"""A file with thousands of errors is refused with work in proportion to its length."""

from __future__ import annotations

import importlib.metadata
import sys
from collections.abc import Callable, Iterable
from typing import Any

import pytest

from hilgw.config.load import load_text
from hilgw.config.source.positions import ConfigErrors

MOST_CALLS = 2000
"""Of functions for one entry; PyYAML without libyaml needs about 100 for each key and value."""
HEAD = "version: 1\nwebots: R2025a\nbackend: mock\n"
ROVERS = "robots:\n" + "".join(f"  rover{number}: {{}}\n" for number in range(60))
UART = "adapters:\n  a:\n    kind: uart\n    port: /dev/x\n"

SHAPES: dict[str, tuple[str, str]] = {  # what stands before the entries; one entry
    "unknown keys": ("robots:\n  r:\n", "    key{n}: 1\n"),
    "wrong values": (
        "robots:\n  r:\n    devices:\n",
        "      e{n}: {{node: Emitter, channel: -7}}\n",
    ),
    "wrong types": ("robots:\n", "  r{n}: {{position: abc}}\n"),
    "unknown kinds": ("robots:\n", "  r{n}: {{controller: {{kind: nope}}}}\n"),
    "unknown references": (ROVERS + UART + "    sources:\n", "      '{n}': rovver{n}x\n"),
    "duplicate names": ("robots:\n", "  r: {{}}\n"),
    "duplicate ports": ("adapters:\n", "  a{n}: {{kind: uart, port: x}}\n"),
    "obstacles": ("obstacles:\n", "  o{n}: {{shape: sphere, radius: -1}}\n"),
    "motor limits": (
        "robots:\n  r:\n    body:\n      kind: wc2ec\n      port: x\n      limits:\n",
        "        m{n}: {{min_position: 3, max_position: 1}}\n",
    ),
    "listeners": (
        "robots:\n",
        "  r{n}: {{controller: {{kind: wc2ec, listen: 'tcp://127.0.0.1:2'}}}}\n",
    ),
    "parameters of a mock": (UART + "    mock:\n", "      p{n}: 1\n"),
    "adapters with mocks": ("adapters:\n", "  a{n}: {{kind: uart, port: p{n}, mock: {{m: 1}}}}\n"),
    "registers of a node": (
        "airs:\n  a:\n    nodes:\n      n:\n        mock: xbee\n",
        "        q{n}: 1\n",
    ),
}


def file_of(shape: str, entries: int) -> str:
    before, entry = SHAPES[shape]
    return HEAD + before + "".join(entry.format(n=number) for number in range(entries))


def refused(text: str) -> int:
    """The number of errors."""
    with pytest.raises(ConfigErrors) as caught:
        load_text(text, "f")
    return len(caught.value.diagnostics)


def calls(work: Callable[[], Any]) -> int:
    """The number of Python and C functions that `work` calls."""
    count = 0

    def count_call(frame: Any, event: str, argument: Any) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count_call)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


@pytest.mark.parametrize("shape", SHAPES)
def test_work_grows_with_the_number_of_wrong_entries_alone(shape: str) -> None:
    assert refused(file_of(shape, 150)) >= 149  # and everything is imported
    few, many = (calls(lambda n=n: refused(file_of(shape, n))) for n in (150, 450))
    assert many <= 3.2 * few
    assert (many - few) / 300 <= MOST_CALLS


@pytest.mark.parametrize("shape", ["unknown kinds", "adapters with mocks", "listeners"])
def test_no_distribution_is_searched_per_entry(shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    searched = []
    original = importlib.metadata.entry_points

    def count(**wanted: str) -> Iterable[Any]:
        searched.append(wanted)
        return original(**wanted)

    monkeypatch.setattr(importlib.metadata, "entry_points", count)
    refused(file_of(shape, 50))
    assert len(searched) <= 6  # once for each group at most
