"""Debian's LIRC as the judge of codes, of the IR Toy's mock, and of the whole gateway."""

import asyncio
import math
import re
import time
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest

from hilgw.engine.event_loop.scheduler import Timer
from hilgw.engine.mock_host import MockHost, create_mock
from hilgw.plugins import new_air
from hilgw.protocols.ir import Code, codec
from hilgw.protocols.ir.base import TOGGLE
from hilgw.testing.sim import DEADLINE_S, until
from hilgw.transports.virtual.pty import VirtualPort
from tests.e2e.lirc import Keys, lircd, output_of, pulses_of, remote, sent_by_irsend, shown_by_irw
from tests.e2e.running import ROOT, Gateway, report_in

TICK_US = 64 / 3
CODES = ("nec", "nec_ext", "rc5", "rc6", "rc6a", "sirc", "sirc15", "sirc20")
START, ROOM, END = b"\x24\x25\x26\x03", b"\x3e", b"\xff\xff"
CONFIG = str(ROOT / "configs" / "ir_toy.yaml")


def some_keys(name: str) -> Keys:
    """Keys at the ends of the range and in between."""
    traits = codec(name).traits
    last_address, last_command = (1 << traits.address_bits) - 1, (1 << traits.command_bits) - 1
    pairs = [
        (0, 0),
        (last_address, last_command),
        (last_address, 0),
        (0, last_command),
        (0x15555555 & last_address, 0x55 & last_command),
        (0x2AAAAAAA & last_address, 0x2A & last_command),
        (4, 8),
        (last_address >> 1, last_command >> 1),
    ]
    return {f"KEY_{number}": pair for number, pair in enumerate(pairs, 1)}


def run(scenario: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(scenario, 2 * DEADLINE_S))


@pytest.mark.judge("irsimsend")
@pytest.mark.parametrize("name", CODES)
def test_what_lirc_sends_is_what_we_decode(name: str, tmp_path: Path) -> None:
    keys = some_keys(name)
    (tmp_path / "lircd.conf").write_text(remote(name, keys))

    async def scenario() -> None:
        await output_of("irsimsend", "-s", "100000", "lircd.conf", cwd=tmp_path)

    run(scenario())
    traits = codec(name).traits
    lines = (tmp_path / "simsend.out").read_text().splitlines()
    frames = pulses_of(lines, traits.gap_us)
    reported = [codec(name).decode(frame) for frame in frames]
    assert [(code.address, code.command) for code in reported if isinstance(code, Code)] == [
        pair for pair in keys.values() for _ in range(len(frames) // len(keys))
    ]
    for frame, code in zip(frames, reported, strict=True):
        assert isinstance(code, Code)
        assert codec(name).encode(code) == pytest.approx(frame, abs=4)


@pytest.mark.judge("irsimreceive")
@pytest.mark.parametrize("name", CODES)
def test_what_we_send_is_what_lirc_decodes(name: str, tmp_path: Path) -> None:
    """Also when a receiver has stretched the marks."""
    keys, one = some_keys(name), codec(name)
    (tmp_path / "lircd.conf").write_text(remote(name, keys))
    lines = ["space 200000"]  # LIRC swallows what comes first
    presses = 0
    for stretch_us in (0, 50):
        for pair in keys.values():
            toggle = presses % 2 if one.traits.held == TOGGLE else 0
            frame = one.encode(Code(*pair, toggle))
            presses += 1
            for _ in range(one.traits.sends):
                for place, us in enumerate(frame):
                    kind, more = (("pulse", stretch_us), ("space", -stretch_us))[place % 2]
                    lines.append(f"{kind} {us + more}")
                lines.append(f"space {one.traits.period_us - sum(frame)}")
            lines[-1] = "space 400000"
    (tmp_path / "light").write_text("\n".join(lines) + "\n")

    async def scenario() -> str:
        return await output_of("irsimreceive", "lircd.conf", "light", cwd=tmp_path)

    text = asyncio.run(asyncio.wait_for(scenario(), 60))
    found = re.findall(r"^[0-9a-f]{16} 00 (KEY_\d) ", text, re.MULTILINE)
    assert found == list(keys) * 2, text


class Tape:
    """A mock, and all that goes in and out of it with its time in seconds."""

    def __init__(self, mock: Any) -> None:
        self._mock = mock
        self.received: list[tuple[float, bytes]] = []
        self.reported: list[tuple[float, bytes]] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._mock, name)

    def receive(self, data: bytes, now: int) -> None:
        self.received.append((now / 1e9, data))
        self._mock.receive(data, now)

    def take(self, now: int) -> bytes:
        data: bytes = self._mock.take(now)
        if data:
            self.reported.append((now / 1e9, data))
        return data


class Room:
    """Toys on virtual ports, in one air."""

    def __init__(self) -> None:
        self.timer = Timer(asyncio.get_running_loop())
        self.host = MockHost(self.timer, new_air())

    def add(self, port: Path, **parameters: Any) -> Tape:
        tape = Tape(create_mock("ir_toy", port.name, self.host.air, parameters, (0.0, 0.0, 0.0)))
        self.host.add(tape, VirtualPort(self.timer, str(port)))
        return tape

    def close(self) -> None:
        self.host.close()
        self.timer.close()


def in_room(scenario: Any) -> None:
    async def play() -> None:
        room = Room()
        try:
            await scenario(room)
        finally:
            room.close()

    run(play())


@pytest.mark.judge("lircd", "irsend")
@pytest.mark.parametrize("name", ["nec", "rc5", "rc6", "sirc"])
def test_what_irsend_sends_decodes_in_our_codec(name: str, tmp_path: Path) -> None:
    """Bytes, count and time: irsend's exit code is not enough."""
    code, pair = Code(4, 0x2A), (4, 0x2A)

    async def scenario(room: Room) -> None:
        port = tmp_path / "ir0"
        toy, other = room.add(port), room.add(tmp_path / "ir1")
        other.receive(b"s", room.timer.now())
        # Without repeats: LIRC waits for ever when it is late for one.
        conf = remote(name, {"KEY_OK": pair}).replace("  min_repeat 2\n", "")
        async with lircd(tmp_path, port, conf) as socket:
            command = ["irsend", "-d", str(socket), "SEND_ONCE", name, "KEY_OK"]
            end = time.monotonic() + DEADLINE_S
            reported = "late"
            while reported:  # late with a block, as on a loaded machine, it reports it
                assert time.monotonic() < end, reported
                toy.received.clear()
                toy.reported.clear()
                reported = await output_of(*command, cwd=tmp_path)
            await until(lambda: all_of(toy.reported).endswith(b"C"), what="the end")
            samples = lambda: all_of(other.reported).removeprefix(b"S01")  # noqa: E731
            await until(lambda: pairs_in(name, samples())[-1:] == [pair], what="the other toy")

        wire = all_of(toy.received).partition(START)[2]
        burst = wire.partition(END)[0] + END
        assert pairs_in(name, burst) == [pair]
        # One byte before the first block and one for each, the last one too; the result.
        answers = ROOM * (1 + math.ceil(len(burst) / 62))
        answers += b"t" + len(burst).to_bytes(2, "big") + b"C"
        assert all_of(toy.reported).removeprefix(b"V222").removeprefix(b"S01") == answers
        started = next(at for at, data in toy.received if data.endswith(START[-1:]))
        light_s = sum(codec(name).encode(code)) / 1e6
        assert toy.reported[-1][0] - started >= light_s

    in_room(scenario)


def all_of(tape: list[tuple[float, bytes]]) -> bytes:
    return b"".join(data for _, data in tape)


def pairs_in(name: str, samples: bytes) -> list[tuple[int, int] | None]:
    """Address and command of each frame in a burst."""
    counts = [samples[at] << 8 | samples[at + 1] for at in range(0, len(samples), 2)]
    light = [round(count * TICK_US) for count in counts if count != 0xFFFF]
    frames = pulses_of(as_lines(light), codec(name).traits.gap_us)
    return [pair_of(name, frame) for frame in frames]


def as_lines(light: list[int]) -> list[str]:
    return [f"{('pulse', 'space')[place % 2]} {us}" for place, us in enumerate(light)]


def pair_of(name: str, frame: list[int]) -> tuple[int, int] | None:
    code = codec(name).decode(frame)
    return (code.address, code.command) if isinstance(code, Code) else None


@pytest.mark.judge("lircd", "irw", "irsend")
def test_lirc_and_a_simulated_robot_receive_each_other(tmp_path: Path) -> None:
    """The shipped configuration, LIRC on its spare toy."""
    conf = remote("nec", {"KEY_L": (4, ord("L")), "KEY_K": (4, ord("K")), "KEY_Y": (4, ord("Y"))})
    gateway = Gateway(tmp_path, ["--config", CONFIG, "--report", "out.json"])

    async def scenario() -> None:
        wanted = [" 00 KEY_L nec\n", " 00 KEY_K nec\n"]  # both senders of the file
        shows_all = lambda text: all(line in text for line in wanted)  # noqa: E731
        await shown_by_irw(tmp_path, tmp_path / "ir-spare", [conf], shows_all)
        came = lambda: '"Y"' in gateway.text()  # noqa: E731
        await sent_by_irsend(tmp_path, tmp_path / "ir-spare", conf, "KEY_Y", came)

    try:
        run(scenario())
        assert gateway.stop() == 130
    finally:
        gateway.stop()
    text = gateway.text()
    assert re.search(r'ir0 +ch 4 +"Y" 1 B +from 04 +-> rover\.rx', text), text
    assert report_in(tmp_path)["stations"]["ir0"]["delivered"] >= 1
