"""`hilgw release` where its gateway changes meanwhile, and signals that come early."""

import argparse
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from hilgw.cli.commands.clients import release
from hilgw.protocols.gateway.requests import PortReleased

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Gateway:
    """It hands the port over, and runs another configuration when it is asked again."""

    @contextmanager
    def released(self, port: str, command: str) -> Iterator[PortReleased]:
        yield PortReleased("/dev/null", "")

    def report(self) -> dict[str, Any]:
        return {"ports": {"other": {"state": "up", "reason": ""}}}


class Command:
    """A program; while it starts, the signal comes."""

    def __init__(self, *_of: Any, **_named: Any) -> None:
        self.got: list[int] = []
        os.kill(os.getpid(), signal.SIGTERM)

    def send_signal(self, number: int) -> None:
        self.got.append(number)

    def wait(self) -> int:
        return -self.got[0]


def test_a_signal_while_the_command_starts_reaches_it_and_the_port_may_be_gone(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("hilgw.client.gateway.gateway_with", lambda *_of, **_named: Gateway())
    monkeypatch.setattr(subprocess, "Popen", Command)
    before = {number: signal.getsignal(number) for number in SIGNALS}
    try:
        args = argparse.Namespace(name="xbee0", words=["flash"], control=None, config=None)
        assert release.run(args) == 128 + signal.SIGTERM
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    text = capsys.readouterr().err
    assert "xbee0 is not up after" in text and "gone with the configuration" in text
