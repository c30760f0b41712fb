"""A program in the place of the hardware: each way to join its line, its end, and bad programs."""

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from hilgw.engine.event_loop.scheduler import Timer
from hilgw.engine.mock_host import Mock, MockHost, create_mock
from hilgw.errors import ConfigError, PortError
from hilgw.plugins import load_mock, new_air
from hilgw.testing.sim import until
from hilgw.transports.base import LineSettings, Transport
from hilgw.transports.virtual.pipe import Pipe
from tests.e2e.running import free_port
from tests.engine.fakes import is_gone

pytestmark = pytest.mark.process
RATE = 115_200
ECHO = """
import os, sys
os.write(2, b'started %d\\n' % os.getpid())
while data := os.read(0, 100):
    os.write(1, data.upper())
"""
SERVE = """
import os, socket, sys
listening = socket.create_server(('127.0.0.1', 0)) if sys.argv[1] == 'tcp' else socket.socket(1)
if sys.argv[1] == 'unix':
    listening.bind(sys.argv[2]), listening.listen()
else:
    open(sys.argv[2], 'w').write(str(listening.getsockname()[1]))
line = listening.accept()[0]
while data := line.recv(100):
    line.sendall(data.upper())
"""
PTY = """
import os, tty
ours, theirs = os.openpty()
tty.setraw(theirs)
if len(__import__('sys').argv) > 1:
    os.symlink(os.ttyname(theirs), __import__('sys').argv[1])
print('char device redirected to', os.ttyname(theirs), '(label serial0)', flush=True)
while data := os.read(ours, 100):
    os.write(ours, data.upper())
"""


class ProgramOnPipe:
    """A program behind a pipe, and all that it and hilgw report about it."""

    def __init__(self, host: MockHost, mock: Mock, client: Callable[[], Transport]) -> None:
        self.host, self.mock, self._connect = host, mock, client
        self.received = b""
        self.connect()

    def connect(self) -> None:
        self.client = self._connect()
        self.client.start(self._take, lambda error: None)

    def _take(self, data: bytes) -> None:
        self.received += data

    async def answers(self, data: bytes, answer: bytes) -> None:
        """Send until the answer comes: the program may not have opened its line yet."""
        self.received = b""
        end = time.monotonic() + 20
        while answer not in self.received:
            assert time.monotonic() < end, self.received
            self.client.write(data)
            await until_or(lambda: answer in self.received, 0.2)


async def until_or(condition: Callable[[], bool], timeout_s: float) -> None:
    try:
        await until(condition, timeout_s)
    except (AssertionError, TimeoutError):
        pass


@asynccontextmanager
async def bench(
    timer: Timer, code: str, *arguments: str, shown: list[str] | None = None, **parameters: Any
) -> AsyncIterator[ProgramOnPipe]:
    shown = [] if shown is None else shown
    host = MockHost(
        timer,
        new_air(),
        lambda name, text: shown.append(f"{name}: {text}"),
        lambda name, line: shown.append(f"{name} | {line}"),
    )
    command = [sys.executable, "-uIS", "-c", code, *arguments]
    mock = create_mock("program", "board", host.air, {"program": command} | parameters)
    pipe = Pipe(timer, LineSettings(RATE))
    try:
        host.add(mock, pipe.device)
        yield ProgramOnPipe(host, mock, pipe.connect)
    finally:
        await asyncio.gather(*host.ends())
        host.close()


def pids(shown: list[str]) -> list[int]:
    return [int(line.split()[-1]) for line in shown if "| started" in line]


async def test_its_standard_input_and_output_are_the_line(timer: Timer) -> None:
    shown: list[str] = []
    async with bench(timer, ECHO, shown=shown) as line:
        await line.answers(b"hello", b"HELLO")
        assert shown == [f"board | started {pids(shown)[0]}"], "shown with its name"
    assert is_gone(pids(shown)[0]), "it ends with the gateway"


@pytest.mark.parametrize("kind", ["tcp", "unix"])
async def test_a_socket_that_it_listens_on(timer: Timer, kind: str, tmp_path: Path) -> None:
    if kind == "unix":
        where, argument = "unix:line", str(tmp_path / "line")
    else:
        where = f"tcp://127.0.0.1:{free_port()}"
        argument = str(tmp_path / "number")
    code = SERVE.replace("0)) if", f"{where.rpartition(':')[2]})) if") if kind == "tcp" else SERVE
    async with bench(timer, code, kind, argument, line=where, folder=str(tmp_path)) as line:
        await line.answers(b"x", b"X")


@pytest.mark.parametrize("named", [False, True])
async def test_a_pty_that_it_opens(timer: Timer, named: bool, tmp_path: Path) -> None:
    arguments = [str(tmp_path / "uart")] if named else []
    where = {"line": "uart" if named else "pty", "folder": str(tmp_path)}
    async with bench(timer, PTY, *arguments, **where) as line:
        await line.answers(b"x", b"X")


async def test_reset_unplug_and_freeze(timer: Timer) -> None:
    shown: list[str] = []
    async with bench(timer, ECHO, shown=shown) as line:
        await line.answers(b"a", b"A")
        line.host.reset(line.mock)
        await line.answers(b"b", b"B")
        first, second = pids(shown)
        assert is_gone(first)
        line.host.unplug(line.mock)
        await until(lambda: is_gone(second))
        line.host.plug(line.mock)
        line.connect()
        await line.answers(b"c", b"C")
        line.received = b""
        line.host.stall(line.mock)
        third = pids(shown)[2]
        await until(lambda: "\nState:\tT" in Path(f"/proc/{third}/status").read_text())
        line.client.write(b"d")
        await until_or(lambda: b"D" in line.received, 0.2)
        assert b"D" not in line.received
        line.host.stall(line.mock, False)
        await until(lambda: b"D" in line.received)
    assert all(map(is_gone, pids(shown)))
    assert not [text for text in shown if "exit" in text or "SIGKILL" in text], "none is a failure"


async def test_hilgw_paces_what_it_sends(timer: Timer) -> None:
    """A program that writes without end waits, and loses nothing: its bytes come in order, no
    faster than the line. hilgw keeps none of them: it reads no faster either."""
    code = """
import os
n = 0
while 1:
    os.write(1, b'%06d\\n' % n)
    n += 1
    if n % 100 == 0: os.write(2, b'written %d\\n' % n)
"""
    shown: list[str] = []
    async with bench(timer, code, shown=shown) as line:
        await until(lambda: bool(line.received))
        begun, had = time.monotonic(), len(line.received)
        await until(lambda: len(line.received) - had > RATE // 20)  # half a second
        took = time.monotonic() - begun
        rows = line.received.split(b"\n")[:-1]
    assert rows == [b"%06d" % n for n in range(len(rows))]
    assert (len(line.received) - had) * 10 <= RATE * (took + 0.05)
    written = 7 * max(int(each.split()[-1]) for each in shown)
    assert written - len(line.received) < 16_000, "what its pipe holds"


async def test_a_crash_loop_is_named_and_ends(
    timer: Timer, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hilgw.engine.processes import processes

    monkeypatch.setattr(processes, "BACKOFF_S", (0.0, 0.001))
    shown: list[str] = []
    async with bench(timer, "raise SystemExit(7)", shown=shown, restart="on-failure"):
        await until(lambda: "stays down" in shown[-1] if shown else False)
    assert shown[0] == "board: the program ended with exit code 7; starts again in 0 s"
    last = "board: the program ended with exit code 7; stays down after 10 failures in a row"
    assert shown[-1] == last
    assert len(shown) == processes.FAILURES


async def test_a_line_that_stays_absent_is_named_in_time_where_each_attempt_is_slow(
    timer: Timer, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hilgw.engine.processes import program

    attempts: list[float] = []

    async def slow(*_: object) -> Transport:
        attempts.append(time.monotonic())
        await asyncio.sleep(1.0)
        raise PortError("it is slow", reason=PortError.ABSENT)

    monkeypatch.setattr(program, "open_serial", slow)
    shown: list[str] = []
    begun = time.monotonic()
    async with bench(timer, "import time; time.sleep(60)", shown=shown, line="uart"):
        await until(lambda: bool(shown), 20)
        took = time.monotonic() - begun
        before = len(attempts)
        await until(lambda: len(attempts) > before + 1, 20)
    assert took < 10, "by time, not by the number of attempts"
    assert len(shown) == 1, "named once"
    assert "board: line uart is not open yet: " in shown[0] and "sleep(60)" in shown[0]


@pytest.mark.parametrize(
    ("program", "text", "fix"),
    [
        (["no-such"], "program 'no-such' is not there", "write its path"),
        (["./qemu-system-avr"], "program './qemu-system-avr' is not there", "qemu-system-misc"),
        (None, "there is no command", ""),
    ],
)
async def test_a_program_that_is_not_there(
    program: list[str] | None, text: str, fix: str, timer: Timer
) -> None:
    with pytest.raises(ConfigError, match=text) as raised:
        async with bench(timer, "", program=program):
            pass
    assert raised.value.where == "board" and fix in raised.value.fix


async def test_an_elf_for_another_machine(timer: Timer, tmp_path: Path) -> None:
    emulator = tmp_path / "qemu-system-avr"
    emulator.write_text("#!/bin/sh\n")
    emulator.chmod(0o755)
    head = b"\x7fELF" + bytes(14)
    for name, number, family in (("arm", 40, 0), ("mega", 83, 6), ("uno", 83, 0x85)):
        rest = number.to_bytes(2, "little") + bytes(16) + family.to_bytes(4, "little")
        (tmp_path / f"{name}.elf").write_bytes(head + rest)

    async def start(*words: str) -> None:
        async with bench(timer, "", program=[str(emulator), *words], folder=str(tmp_path)):
            pass

    with pytest.raises(
        ConfigError, match=r"arm\.elf is for ARM, not for qemu-system-avr"
    ) as raised:
        await start("-bios", "arm.elf")
    assert raised.value.where == "board"
    part = r"mega\.elf is for AVR \(avr6\), not for qemu-system-avr uno"
    with pytest.raises(ConfigError, match=part) as raised:
        await start("-M", "uno", "-bios", "mega.elf")
    assert raised.value.fix == "compile it for AVR (avr5)"
    for words in ("-M uno -bios uno.elf", "-M mega2560 -bios mega.elf", "-bios mega.elf"):
        await start(*words.split())


@pytest.mark.parametrize(
    ("parameters", "names"),
    [
        ({"program": []}, "program"),
        ({"program": "'"}, "program"),
        ({"program": 5}, "program"),
        ({"program": "x", "restart": "with-body"}, "restart"),
        ({"program": "x", "line": "tcp://nowhere"}, "line"),
        ({"program": "x", "baudRate": "fast"}, "baudRate"),
        ({"program": "x", "speed": 5}, "speed"),
    ],
)
def test_parameters_that_it_refuses(parameters: dict[str, Any], names: str) -> None:
    with pytest.raises(ValueError, match=f"^{names}: "):
        load_mock("program").check(parameters)
