"""A bench for mocks: one air, mock time, every module's output collected."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from firmware_mocks import xbee
from firmware_mocks.air import Air
from firmware_mocks.xbee.module import Module
from hilgw.testing.co_simulation import CoSimulation, Side

BROADCAST = 0xFFFF
MS = 1_000_000


def wrap(data: bytes) -> bytes:
    """Frame data as a frame, mode 1."""
    return b"\x7e" + len(data).to_bytes(2, "big") + data + bytes((0xFF - sum(data) % 256,))


def unwrap(wire: bytes) -> list[bytes]:
    """The frame data of a stream of nothing but good frames, mode 1."""
    frames = []
    while wire:
        assert wire[0] == 0x7E, wire.hex(" ")
        end = 3 + int.from_bytes(wire[1:3], "big")
        assert sum(wire[3 : end + 1]) % 256 == 0xFF, wire.hex(" ")
        frames.append(wire[3:end])
        wire = wire[end + 1 :]
    return frames


class MockSide(Side):
    """A mock alone. output: its bytes since `taken`."""

    def __init__(self, world: AirBench, mock: Any) -> None:
        super().__init__(world, mock=mock)
        self.log = world.log
        self.output = bytearray()

    def collected(self, data: bytes) -> None:
        self.output += data
        self.log.append((self.world.now, self.mock, data))

    def taken(self) -> bytes:
        data = bytes(self.output)
        self.output.clear()
        return data


class AirBench(CoSimulation):
    """Mocks of one kind in one air, driven by deadlines as a host does it; it keeps their output.

    create: makes one of them. parameters: of those that are there at first, 1 m apart.
    answer_ms: how long `ask` waits.
    """

    def __init__(
        self,
        create: Callable[..., Any],
        *parameters: dict[str, Any],
        seed: int = 0,
        loss: float = 0.0,
        now: int = 0,
        answer_ms: float = 100,
    ) -> None:
        super().__init__(Air(seed=seed, loss=loss), now)
        self.create = create
        self.answer_ms = answer_ms
        self.modules: list[Any] = []
        self.log: list[tuple[int, Any, bytes]] = []  # time, module, bytes that left together
        for x, given in enumerate(parameters):
            self.add(position=(float(x), 0, 0), **given)

    def add(
        self, name: str = "", position: tuple[float, float, float] = (0, 0, 0), **parameters: Any
    ) -> Any:
        name = name or f"m{len(self.modules)}"
        return self.join(self.create(name, self.air, parameters, position))

    def join(self, module: Any) -> Any:
        self.modules.append(module)
        self.start(MockSide(self, module))
        return module

    def run(self, ms: float, until: Callable[[], object] = lambda: False) -> bool:
        return super().run(ms / 1000, until)

    def put(self, module: Any, data: bytes) -> None:
        """The client's bytes arrive at once."""
        side = self.side(module)
        side.mock.receive(data, self.now)
        side.collect()

    def ask(self, module: Any, data: bytes, ms: float | None = None) -> Any:
        """The module's output in this time after these bytes."""
        self.put(module, data)
        self.run(self.answer_ms if ms is None else ms)
        return self.taken(module)

    def side(self, module: Any) -> MockSide:
        """Of a module, or of the one with this number."""
        side = self.sides[module if isinstance(module, int) else self.modules.index(module)]
        assert isinstance(side, MockSide)
        return side

    def taken(self, module: Any = 0) -> bytes:
        """The output of a module since the last call."""
        return self.side(module).taken()


class XBeeAir(AirBench):
    """XBee modules, whose bytes are frames."""

    def __init__(self, loss: float = 0.0) -> None:
        super().__init__(xbee.create, loss=loss, now=1_000 * MS, answer_ms=300)

    def pair(self, **parameters: Any) -> tuple[Module, Module]:
        """Two modules 1 m apart, powered up and quiet."""
        two = self.add(**parameters), self.add(position=(1, 0, 0), **parameters)
        self.settle()
        return two

    def settled(self, name: str = "", **parameters: Any) -> Module:
        """Add a module, let all boot, and return it."""
        module: Module = self.add(name, **parameters)
        self.settle()
        return module

    def settle(self) -> None:
        """Let modules boot (and join); forget their output."""
        self.run(500)
        for module in self.modules:
            self.taken(module)
        self.log.clear()

    def put(self, module: Module, data: bytes) -> None:
        """The client's bytes arrive at the line's pace, in lumps of up to 5 ms as a host's do."""
        lump = max(1, 5 * MS // module.uart.byte_ns)
        for start in range(0, len(data), lump):
            part = data[start : start + lump]
            self.run(len(part) * module.uart.byte_ns / MS)
            module.receive(part, self.now)
            self.run(0)

    def frames(self, module: Module) -> list[bytes]:
        return unwrap(self.taken(module))

    def ask(self, module: Module, data: bytes, ms: float | None = None) -> list[bytes]:
        """Send one frame; the frames that came back meanwhile."""
        return unwrap(super().ask(module, wrap(data), ms))

    def at(self, module: Module, command: bytes, value: bytes = b"", kind: int = 8) -> bytes:
        """One AT command by frame; status and value of its answer."""
        (answer,) = self.ask(module, bytes((kind, 1)) + command + value, 50)
        assert answer[:4] == b"\x88\x01" + command
        return answer[4:]

    def get(self, module: Module, command: bytes) -> bytes:
        answer = self.at(module, command)
        assert answer[0] == 0
        return answer[1:]

    def tx64(self, module: Module, to: int, data: bytes) -> int:
        """Frame 00; the status of its 89."""
        (answer,) = self.ask(module, b"\x00\x42" + to.to_bytes(8, "big") + b"\0" + data)
        assert answer[:2] == b"\x89\x42"
        return answer[2]

    def tx16(self, module: Module, to: int, data: bytes) -> int:
        """Frame 01; the status of its 89."""
        (answer,) = self.ask(module, b"\x01\x43" + to.to_bytes(2, "big") + b"\0" + data)
        assert answer[:2] == b"\x89\x43"
        return answer[2]

    def tx(
        self, module: Module, to: int, data: bytes, to16: int = 0xFFFE, options: int = 0
    ) -> bytes:
        """Frame 10; its 8B from the address on: address, retries, delivery, discovery."""
        head = b"\x10\x44" + to.to_bytes(8, "big") + to16.to_bytes(2, "big") + bytes((0, options))
        (answer,) = self.ask(module, head + data, 2000)
        assert answer[:2] == b"\x8b\x44"
        return answer[2:]

    def type(self, module: Module, text: str, ms: float = 100) -> str:
        """Characters at the line's pace, and what is printed then."""
        for character in text.encode():
            self.put(module, bytes((character,)))
        self.run(ms)
        return self.taken(module).decode("latin-1")

    def command_mode(self, module: Module) -> None:
        self.run(1100)
        assert self.type(module, "+++", 1100) == "OK\r"
