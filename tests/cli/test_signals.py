"""Signals before the loop begins, in it and after it ended: the exit code, and not a word."""

import asyncio
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from hilgw.cli.signals import ECHO_S, StopSignal
from hilgw.testing.sim import until
from tests.e2e.running import run_program

AFTER_A_RUN = """
import os, signal, sys
import hilgw.__main__ as entry
print(*sorted({"argparse", "asyncio", "yaml"} & set(sys.modules)))
sys.argv = ["hilgw", "-q", "--config", sys.argv[1], "--duration", "10ms"]
assert entry.main() == 0
os.kill(os.getpid(), getattr(signal, os.environ["SIGNAL"]))
while True:
    signal.pause()
"""


@pytest.mark.process
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_nothing_slow_is_imported_first_and_a_late_signal_has_its_code(
    number: signal.Signals, tmp_path: Path
) -> None:
    (tmp_path / "one.yaml").write_text("version: 1\n")
    command = (sys.executable, "-c", AFTER_A_RUN, "one.yaml")
    done = run_program(*command, cwd=tmp_path, SIGNAL=number.name)
    assert done.returncode == {signal.SIGINT: 130, signal.SIGTERM: 143}[number], done.stderr
    assert (done.stdout.splitlines()[:1], done.stderr) == ([""], "")


@pytest.fixture
def restored() -> Iterator[None]:
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.getsignal(number) for number in numbers}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("restored")
@pytest.mark.parametrize("is_over", [False, True], ids=["running", "last words"])
def test_a_signal_twice_at_once_is_one(is_over: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """timeout(1) signals its child, then its process group; the run still ends in order."""
    left: list[int] = []
    now_s = [100.0]
    monkeypatch.setattr(os, "_exit", left.append)
    monkeypatch.setattr("hilgw.cli.signals.time", SimpleNamespace(monotonic=lambda: now_s[0]))

    async def test() -> None:
        stop = StopSignal()
        os.kill(os.getpid(), signal.SIGTERM)
        await until(stop.event.is_set)
        if is_over:
            stop.last_words()
        for after_s, expected in ((0.0, set()), (ECHO_S / 2, set()), (ECHO_S / 2, {130})):
            now_s[0] += after_s
            os.kill(os.getpid(), signal.SIGINT)
            for _ in range(3):
                await asyncio.sleep(0)
            assert set(left) == expected
        assert stop.code == 143

    asyncio.run(test())


@pytest.mark.usefixtures("restored")
def test_a_lost_reader_stops_the_robots_before_a_signal(monkeypatch: pytest.MonkeyPatch) -> None:
    """`hilgw ... | tee log`: Ctrl-C ends tee, too."""
    done: list[str] = []
    monkeypatch.setattr(os, "_exit", lambda code: done.append(f"exit {code}"))

    async def test() -> None:
        stop = StopSignal()
        stop.at_once = lambda: done.append("stopped")
        stop.output_lost(BrokenPipeError())
        os.kill(os.getpid(), signal.SIGINT)
        for _ in range(3):
            await asyncio.sleep(0)
        assert (stop.code, stop.event.is_set()) == (130, True)

    asyncio.run(test())
    assert done == ["stopped"]
