"""A bench for the xbee session: a module small enough to be seen through, and simulated time.

The module speaks just what a test needs, byte by byte from the data sheet, and can be requested to
misbehave. It shares no code with the adapter or with the firmware mock.
"""

from __future__ import annotations

from typing import Any

from hilgw.adapters.base import Event, Failed, StationSettings
from hilgw.adapters.xbee import ADAPTER
from hilgw.medium.packet import Packet
from tests.adapters.bench import SessionBench

SERIAL = "0013A20041424344"


def frame(data: str | bytes, escaped: bool = False) -> bytes:
    """An API frame, written a second time, plainly."""
    raw = bytes.fromhex(data) if isinstance(data, str) else data
    body = len(raw).to_bytes(2, "big") + raw + bytes((255 - sum(raw) % 256,))
    if not escaped:
        return b"\x7e" + body
    pairs = (bytes((0x7D, b ^ 0x20)) if b in b"\x7e\x7d\x11\x13" else bytes((b,)) for b in body)
    return b"\x7e" + b"".join(pairs)


def unframe(wire: bytes, escaped: bool = False) -> bytes:
    """The frame data of exactly one frame."""
    assert wire[:1] == b"\x7e"
    body = wire[1:]
    if escaped:
        plain, index = bytearray(), 0
        while index < len(body):
            special = body[index] == 0x7D
            plain.append(body[index + 1] ^ 0x20 if special else body[index])
            index += 1 + special
        body = bytes(plain)
    size = int.from_bytes(body[:2], "big")
    data = body[2:-1]
    assert len(data) == size
    assert (sum(data) + body[-1]) % 256 == 255
    return data


class FakeModule:
    """An XBee 3 with 802.15.4 firmware, as far as the handshake needs one.

    silent: it receives nothing. deaf_for: so many requests get no answer. refuse: status for a set.
    stuck: sets are answered OK and forgotten. held: sets that wait for AC.
    """

    def __init__(self, api_mode: int = 1, **registers: bytes) -> None:
        self.api_mode = api_mode
        self.registers = {
            "AP": bytes((api_mode,)), "HV": b"\x41\x42", "VR": b"\x20\x14",
            "SH": bytes.fromhex(SERIAL[:8]), "SL": bytes.fromhex(SERIAL[8:]),
            "MY": b"\xff\xff", "CH": b"\x0c", "ID": b"\x33\x32", "NP": b"\x00\x66",
        } | registers  # fmt: skip
        self.silent = False
        self.deaf_for = 0
        self.refuse: dict[str, int] = {}
        self.stuck = False
        self.held: dict[str, bytes] = {}
        self.log: list[bytes] = []
        self.texts: list[bytes] = []

    def silenced(self) -> FakeModule:
        """Make it receive nothing; return this one."""
        self.silent = True
        return self

    def answer(self, wire: bytes) -> bytes:
        if self.silent:
            return b""
        if self.api_mode not in (1, 2):
            return self.command_mode(wire)
        if wire[:1] != b"\x7e":
            return b""
        data = unframe(wire, self.api_mode == 2)
        self.log.append(data)
        if self.deaf_for:
            self.deaf_for -= 1
            return b""
        return frame(self.at_command(data), self.api_mode == 2) if data[0] in (8, 9) else b""

    def at_command(self, data: bytes) -> bytes:
        name, value = data[2:4].decode(), data[4:]
        head = b"\x88" + data[1:4]
        if name == "AC":
            self.registers |= self.held
            self.held.clear()
            return head + b"\x00"
        if value:
            if name not in self.refuse and not self.stuck:
                self.held[name] = value
            return head + bytes((self.refuse.get(name, 0),))
        if name not in self.registers:
            return head + b"\x02"
        return head + b"\x00" + self.registers[name]

    def command_mode(self, wire: bytes) -> bytes:
        self.texts.append(wire)
        if wire == b"ATAP\r":
            return b"%x\r" % self.registers["AP"][0]
        return b"OK\r" if wire in (b"+++", b"ATCN\r") else b""


class ModuleSession(SessionBench):
    def __init__(
        self,
        fake: FakeModule | None = None,
        /,
        channel: int = 12,
        line: dict[str, Any] | None = None,
        **settings: Any,
    ) -> None:
        self.settings = ADAPTER.Settings(**settings)
        self.common = StationSettings(**{"port": "/dev/null", "channel": channel} | (line or {}))
        self.module = fake or FakeModule(settings.get("api_mode", 1))
        super().__init__(ADAPTER.session(self.settings, self.common))

    def put(self, data: bytes) -> None:
        """Let the module answer at once."""
        super().put(data)
        if answer := self.module.answer(data):
            self.take_in(answer)

    def opened(self) -> ModuleSession:
        self.open()
        return self

    def failure(self) -> Any:
        (failed,) = self.of(Failed)
        return failed.error

    def ready(self) -> ModuleSession:
        self.open()
        self.events.clear()
        self.writes.clear()
        return self

    def frames(self, *data: str) -> list[Event]:
        escaped = self.settings.api_mode == 2
        return self.take_in(b"".join(frame(item, escaped) for item in data))

    def send(self, data: bytes, channel: int = 12) -> Any:
        return self.session.send(
            Packet(data=data, channel=channel, type="radio", source="rover.tx"), self.now
        )
