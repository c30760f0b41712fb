"""The whole screen of `hilgw watch` on a pseudo-terminal: keys, sizes, the terminal after it."""

import fcntl
import os
import re
import select
import signal
import struct
import termios
import threading
from collections.abc import Callable, Iterator
from queue import SimpleQueue
from typing import Any

import pytest

from hilgw.cli.output import live_screen
from hilgw.cli.output.live_table import LiveTable
from hilgw.cli.output.text import Style
from hilgw.client.arming import Disarmed
from hilgw.client.gateway import Gateway as RunningGateway
from hilgw.errors import PeerError
from hilgw.testing.sim import DEADLINE_S
from tests.cli.output.test_live_table import packet

pytestmark = pytest.mark.wall_clock


class Screen:
    """A terminal with a person at it, in a thread: `act` is called with each screen that is drawn,
    and ends when it returns True."""

    def __init__(self) -> None:
        self.keys, self.inside = os.openpty()
        self.before = termios.tcgetattr(self.inside)
        self.events: SimpleQueue[dict[str, Any] | Exception | None] = SimpleQueue()
        self.text = ""
        self.size(24, 80)

    def size(self, lines: int, columns: int) -> None:
        fcntl.ioctl(self.inside, termios.TIOCSWINSZ, struct.pack("4H", lines, columns, 0, 0))

    def source(self) -> Iterator[dict[str, Any]]:
        while (event := self.events.get()) is not None:
            if isinstance(event, Exception):
                raise event
            yield event

    def see(self, wanted: str) -> list[str]:
        """The lines of the next screen that has these words."""
        while True:
            for shown in reversed(self.text.split("\x1b[H")[1:]):
                if wanted in shown and shown.endswith("\x1b[J"):
                    self.text = ""
                    return re.sub(r"\x1b\[[KJ]", "", shown).split("\r\n")
            self.read()

    def read(self) -> None:
        assert select.select([self.keys], [], [], DEADLINE_S)[0], self.text
        self.text += os.read(self.keys, 65536).decode().replace("\r\r\n", "\r\n")

    def type(self, keys: str) -> None:
        os.write(self.keys, keys.encode())

    def run(self, act: Callable[[], object]) -> None:
        table = LiveTable("hilgw watch", Style(False), ("-", "o"), "EVENTS")
        self.events = SimpleQueue()

        def watched() -> None:
            try:
                act()
            except BaseException as error:  # the screen would wait for the person
                self.events.put(AssertionError(repr(error)))
                raise

        person = threading.Thread(target=watched)
        person.start()
        try:
            with os.fdopen(os.dup(self.inside), "w") as out:
                live_screen.watch(table, self.source(), self.inside, out)
        finally:
            person.join()
            self.events.put(None)

    def check_restored(self) -> None:
        while "\x1b[?1049l" not in self.text:
            self.read()
        assert self.text.endswith("\x1b[?7h\x1b[?25h\x1b[?1049l")
        assert termios.tcgetattr(self.inside) == self.before


@pytest.fixture
def screen() -> Iterator[Screen]:
    made = Screen()
    yield made
    os.close(made.keys)
    os.close(made.inside)


def test_it_follows_keys_and_sizes_until_q(screen: Screen, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[Any, ...]] = []

    def disarmed(*names: Any) -> Disarmed:
        asked.append(names)
        error = PeerError("stop NOT confirmed: the gateway does not answer", where="other")
        return Disarmed([("rover", RunningGateway(screen_path))], [error])

    screen_path: Any = "/nowhere"
    monkeypatch.setattr(live_screen, "disarm_each", disarmed)

    def person() -> None:
        screen.events.put(packet(b"ping"))
        assert len(screen.see('"ping" 4 B  -> xbee0')) == 24
        screen.size(10, 40)
        while len(lines := screen.see("hilgw watch")) != 10:
            pass
        assert max(map(len, lines)) <= 40
        screen.size(24, 100)
        screen.type("\x1b[A\x1b[1;5D")  # an arrow does nothing
        os.write(screen.keys, b"\xe4")  # nor does a byte of a Latin-1 terminal
        screen.type("/pong\r")
        lines = screen.see("filter: pong")
        assert not [line for line in lines if '"ping"' in line]
        screen.type(" ")
        screen.see("PAUSED")
        screen.type("d")
        assert "other: stop NOT confirmed" in screen.see("NOT confirmed")[1]
        screen.type("q")

    screen.run(person)
    screen.check_restored()
    assert asked == [([], None, None)]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_leaves_the_terminal_as_it_was(screen: Screen, number: signal.Signals) -> None:
    def person() -> None:
        screen.see("0 events")
        os.kill(os.getpid(), number)

    before = signal.getsignal(number)
    with pytest.raises(SystemExit) as ended:
        screen.run(person)
    assert ended.value.code == 128 + number
    assert signal.getsignal(number) is before
    screen.check_restored()


def test_it_stops_with_ctrl_z_and_goes_on(screen: Screen, monkeypatch: pytest.MonkeyPatch) -> None:
    stopped: list[tuple[int, signal.Signals, bool]] = []

    def stop(group: int, number: signal.Signals) -> None:
        stopped.append((group, number, termios.tcgetattr(screen.inside) == screen.before))

    def person() -> None:
        screen.see("0 events")
        screen.type("\x1a")
        while live_screen.LEAVE + live_screen.ENTER not in screen.text:
            screen.read()
        screen.see("0 events")
        screen.type("q")

    monkeypatch.setattr(live_screen.os, "killpg", stop)
    screen.run(person)
    assert stopped == [(0, signal.SIGTSTP, True)]
    screen.check_restored()


def test_the_outcome_is_of_the_second_key(screen: Screen, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first request is answered after the second, which fails."""
    threads, is_second = list[threading.Thread](), threading.Event()

    def disarmed(*names: Any) -> Disarmed:
        threads.append(threading.current_thread())
        if len(threads) == 1:
            assert is_second.wait(DEADLINE_S)
            return Disarmed([("rover", RunningGateway(screen_path))], [])
        return Disarmed([], [PeerError("stop NOT confirmed", where="other")])

    def person() -> None:
        screen.see("0 events")
        screen.type("d")
        while not threads:
            screen.type("\x1b[A")
        screen.type("d")
        screen.see("other: stop NOT confirmed")
        is_second.set()
        threads[0].join()
        screen.events.put(packet(b"ping"))
        assert "other: stop NOT confirmed" in screen.see('"ping"')[1]
        screen.type("q")

    screen_path: Any = "/nowhere"
    monkeypatch.setattr(live_screen, "disarm_each", disarmed)
    screen.run(person)
    screen.check_restored()


def test_the_end_of_the_events_and_an_error_of_them(screen: Screen) -> None:
    screen.run(lambda: screen.events.put(None))
    screen.check_restored()
    screen.text = ""
    with pytest.raises(PeerError, match="is gone"):
        screen.run(lambda: screen.events.put(PeerError("the gateway is gone")))
    screen.check_restored()
