"""The mock `program`: a command takes the place of the hardware on a line.

Such as the emulator of a board with its firmware. hilgw paces what it sends, and ends it.
"""

import asyncio
import math
import os
import re
import shlex
import shutil
import socket
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, get_args

from hilgw.engine.observer import Observer
from hilgw.engine.processes.processes import Child, Program, Restart
from hilgw.errors import ConfigError, PortError, quoted
from hilgw.transports.base import LineSettings, Scheduler, Transport
from hilgw.transports.serial.port import open_serial
from hilgw.transports.tcp.address import parse_address
from hilgw.transports.tcp.stream import TcpStream, connect_local, connect_tcp
from hilgw.units import NS_PER_S

SUMMARY = "a program in the place of the hardware: emulated or native firmware"
PARAMETERS = {
    "program": "the command: text as for a shell, or a list of words",
    "line": "how its serial line is joined: stdio, pty (the first /dev/pts/N that it prints), the "
    "path of a port that it makes, tcp://HOST:PORT or unix:PATH where it listens (default stdio)",
    "restart": "never, or on-failure (default never)",
    "folder": "where it runs (default: the folder of the configuration)",
    "baudRate": "rate of the line (default 115200)",
}
OPEN_POLL_S = 0.05
OPEN_NS = 3 * NS_PER_S // 2  # then the user reads that the line is not open
READ_BYTES = 256  # a longer slice would wait in hilgw, not in the program
PACKAGES = {"qemu-system-avr": "qemu-system-misc", "simavr": "simavr"}
MACHINES = {40: "ARM", 62: "x86-64", 83: "AVR", 183: "AArch64", 243: "RISC-V"}
EMULATED = {
    "qemu-system-avr": "AVR",
    "simavr": "AVR",
    "qemu-system-arm": "ARM",
    **dict.fromkeys(("uno", "arduino-uno", "2009", "arduino-duemilanove"), "AVR (avr5)"),
    **dict.fromkeys(("mega", "arduino-mega"), "AVR (avr51)"),
    **dict.fromkeys(("mega2560", "arduino-mega-2560-v3"), "AVR (avr6)"),
}
"""Emulator, or machine of QEMU -> the processor that it has. Of an AVR: the families of avr-gcc."""
_PTY = re.compile(r"/dev/pts/\d+")


def create(
    name: str,
    air: object,
    parameters: Mapping[str, Any],
    position: tuple[float, float, float] = (0.0, 0.0, 0.0),
) -> "ProgramMock":
    """Make the mock; `attach` starts its program. Raises ValueError."""
    for key in parameters:
        if key not in PARAMETERS:
            raise ValueError(f"{key}: {quoted(key)} is not one of {', '.join(PARAMETERS)}")
    return ProgramMock(name, parameters)


class _Shown(Observer):
    def __init__(
        self, notify: Callable[[str, str], object], line: Callable[[str, str], object]
    ) -> None:
        self._notify, self._line = notify, line

    def notice(self, source: str, text: str) -> None:
        self._notify(source, text)

    def output(self, source: str, line: str) -> None:
        self._line(source, line)


class ProgramMock:
    """A `hilgw.engine.mock_host.Mock` whose firmware is another process.

    lost: bytes that it did not read.
    """

    bits_per_byte = 10

    def __init__(self, name: str, parameters: Mapping[str, Any]) -> None:
        self.name = name
        self.host_baud: int | None = None
        self.baud_rate = _rate(parameters.get("baudRate", 115_200))
        self.lost = 0
        self._command = _command(parameters.get("program"))
        self._line = _line(parameters.get("line", "stdio"))
        self._restart: Restart = parameters.get("restart", "never")
        if self._restart not in get_args(Restart)[:2]:
            raise ValueError(f"restart: {self._restart!r} is neither never nor on-failure")
        self._folder = Path(parameters.get("folder", "."))
        self._child: Child | None = None
        self._transport: Transport | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._received = b""
        self._printed = ""  # the path of the pty that it opens
        self._ended = False

    # --- the host -----------------------------------------------------------------------------

    def attach(
        self,
        scheduler: Scheduler,
        wake: Callable[[], None],
        notify: Callable[[str, str], object],
        show: Callable[[str, str], object],
    ) -> None:
        _check(self._command, self._folder, self.name)
        self._scheduler, self._wake, self._notify, self._show = scheduler, wake, notify, show
        self._start()

    def receive(self, data: bytes, now: int) -> None:
        try:
            if self._transport is None:
                raise PortError("not open", reason=PortError.ABSENT)
            self._transport.write(data)
        except PortError:  # a board whose firmware does not read loses bytes as well
            self.lost += len(data)

    def advance(self, now: int) -> None: ...

    def take(self, now: int) -> bytes:
        data, self._received = self._received, b""
        return data

    def next_deadline(self) -> int | None:
        return 0 if self._received else None

    def set(self, name: str, value: str) -> None:
        raise ValueError(f"{name}: the parameters of a program are those of its start")

    def reset(self, now: int) -> None:
        """End the program, and start it again."""
        self.switch_off()
        self._start()

    def switch_off(self) -> None:
        """End the program at once."""
        child, self._child = self._child, None
        self._received = b""
        if child is not None:
            child.kill()  # before its line ends, which would end many a program by itself
        self._drop_line()
        for task in self._tasks:
            task.cancel()
        if child is not None:
            self._keep(child.stop())

    def freeze(self, frozen: bool) -> None:
        if self._child is not None:
            self._child.freeze(frozen)

    async def finish(self) -> None:
        self._ended = True
        self.switch_off()
        if self._tasks:
            await asyncio.wait(self._tasks)

    def describe(self) -> str:
        state = "off" if self._child is None else self._child.state.value
        return f"program {shlex.join(self._command)}: {state}"

    # --- the program --------------------------------------------------------------------------

    def _start(self) -> None:
        if self._ended:
            return
        line = self._new_line if self._line == "stdio" else None
        program = Program(self._command, self._restart, folder=self._folder, line=line)

        def notify(name: str, text: str) -> None:
            if child is self._child:  # not of one that was switched off
                self._notify(name, text)

        child = self._child = Child(self.name, program, _Shown(notify, self._output))
        self._printed = ""
        child.start(os.environ)
        if line is None:
            self._keep(self._join(child))

    def _new_line(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        ours.setblocking(False)
        self._drop_line()
        self._joined(TcpStream(ours, self.name))
        return theirs

    def _output(self, name: str, line: str) -> None:
        if match := _PTY.search(line):
            self._printed = match[0]
        self._show(name, line)

    async def _join(self, child: Child) -> None:
        named_ns: float = self._scheduler.now() + OPEN_NS
        while child is self._child:
            try:
                if self._transport is None:
                    self._joined(await self._open())
                named_ns = self._scheduler.now() + OPEN_NS
            except PortError as error:
                if self._scheduler.now() >= named_ns:
                    named_ns = math.inf  # once
                    self._notify(
                        self.name,
                        f"line {self._line} is not open yet: {error.what}; "
                        f"`program` is {shlex.join(self._command)}",
                    )
            await asyncio.sleep(OPEN_POLL_S)

    async def _open(self) -> Transport:
        kind, _, rest = self._line.partition(":")
        if kind == "tcp":
            return await connect_tcp(*parse_address(self._line), deadline_s=OPEN_POLL_S)
        if kind == "unix":
            return await connect_local(str(self._folder / rest))
        if self._line == "pty" and not self._printed:
            raise PortError("it has printed no /dev/pts/N", reason=PortError.ABSENT)
        return await open_serial(
            self._printed or str(self._folder / self._line),
            LineSettings(self.baud_rate),
            self._scheduler,
        )

    def _joined(self, transport: Transport) -> None:
        if self._child is None:
            transport.close()
            return
        self._transport = transport
        transport.read_bytes = READ_BYTES
        transport.start(
            lambda data: self._sent(transport, data), lambda error: self._drop_line(transport)
        )

    def _sent(self, transport: Transport, data: bytes) -> None:
        """Take what the program has written; it waits until the line has carried it."""
        self._received += data
        transport.pause_reading()
        busy_ns = LineSettings(self.baud_rate).duration_ns(len(data))
        self._scheduler.call_at(self._scheduler.now() + busy_ns, lambda: self._read_on(transport))
        self._wake()

    def _read_on(self, transport: Transport) -> None:
        if transport is self._transport:
            transport.resume_reading()

    def _drop_line(self, of: Transport | None = None) -> None:
        transport = self._transport
        if transport is not None and of in (None, transport):
            self._transport, self._printed = None, ""
            transport.close()

    def _keep(self, work: Any) -> None:
        task: asyncio.Task[None] = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def _command(given: Any) -> list[str]:
    try:
        words = shlex.split(given) if isinstance(given, str) else list(given or ())
    except (ValueError, TypeError) as error:
        raise ValueError(f"program: {given!r} is not a command: {error}") from None
    if (given is not None and not words) or not all(
        isinstance(word, str | int | float) for word in words
    ):
        raise ValueError(f"program: {given!r} is not a command")
    return [str(word) for word in words]


def _rate(given: Any) -> int:
    if not str(given).isdigit() or not 0 < int(given) <= 10_000_000:
        raise ValueError(f"baudRate: {given!r} is not a baud rate")
    return int(given)


def _line(given: Any) -> str:
    line = str(given)
    try:
        if line.startswith("tcp:"):
            parse_address(line)
    except ValueError as error:
        raise ValueError(f"line: {error}") from None
    return line


def _check(command: list[str], folder: Path, where: str) -> None:
    if not command:
        raise ConfigError("there is no command", where=where, fix="write `program: COMMAND`")
    program, name = command[0], Path(command[0]).name
    path = str((folder / program).absolute()) if "/" in program else program
    if shutil.which(path) is None:
        package = PACKAGES.get(name, name)
        fix = f"apt-get install {package}" if name in EMULATED else "install it, or write its path"
        raise ConfigError(f"program {quoted(program)} is not there", where=where, fix=fix)
    emulated = [word for word in (name, *command[1:]) if word in EMULATED]
    for word in command[1:] if name in EMULATED else ():
        target = elf_target(folder / word.rpartition("=")[2])
        if target and not target.startswith(needed := EMULATED[emulated[-1]]):
            raise ConfigError(
                f"{word} is for {target}, not for {' '.join(emulated)}",
                where=where,
                fix=f"compile it for {needed}",
            )


def elf_target(file: Path) -> str:
    """Return the processor of an ELF file, of an AVR its family, too; "" for another file."""
    try:
        with file.open("rb") as opened:
            head = opened.read(40)
    except (OSError, ValueError):
        return ""
    if head[:4] != b"\x7fELF" or len(head) < 40:
        return ""
    number = int.from_bytes(head[18:20], "little")
    target = MACHINES.get(number, f"machine {number}")
    return f"{target} (avr{head[36] & 127})" if target == "AVR" else target  # e_flags
