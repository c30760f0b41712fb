"""Free memory goes back to the system, until the page ends."""

import ctypes
import threading
from types import SimpleNamespace

import pytest

from hilgw.web import live


def test_free_memory_goes_back_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    ended, kept = threading.Event(), []

    def trim(pad: int) -> None:
        kept.append(pad)
        if len(kept) == 3:
            ended.set()

    monkeypatch.setattr(ctypes, "CDLL", lambda name: SimpleNamespace(malloc_trim=trim))
    monkeypatch.setattr(live, "TRIM_S", 0.001)
    live.give_back(ended)
    assert kept == [0, 0, 0]


def test_a_c_library_without_it_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda name: SimpleNamespace())
    live.give_back(threading.Event())
