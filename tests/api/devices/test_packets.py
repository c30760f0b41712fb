"""Emitter and Receiver of the API: what engine/control_loop/test_golden_controllers cannot show."""

import math
import struct
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from typing import Any

import pytest

from hilgw.api import Emitter, Receiver, Robot
from hilgw.protocols.webots.device_messages import EmitterConfiguration, ReceiverConfiguration
from tests.api.simulator import Simulator, robot_of

Made = tuple[Simulator, Robot, Any]


def emitter(buffer_size: int = 32) -> Simulator:
    def make(tag: int) -> EmitterConfiguration:
        return EmitterConfiguration(tag, buffer_size, 3, -1.0, 2.0, 5.0, (3, 4, -1))

    return Simulator([("Emitter", "tx", make)])


@pytest.fixture
def robot() -> Iterator[Callable[[Simulator], Made]]:
    with ExitStack() as robots:

        def make(simulator: Simulator) -> Made:
            made = robots.enter_context(closing(robot_of(simulator)))
            return simulator, made, made.getDeviceByIndex(0)

        yield make


def test_e3_e4_errors_are_printed_and_send_nothing(
    robot: Callable[..., Made], capsys: pytest.CaptureFixture[str]
) -> None:
    simulator, rover, tx = robot(emitter())
    assert tx.send(b"") == tx.send("") == 0
    assert capsys.readouterr().err.count("Error: wb_emitter_send(): invalid size=0 argument.") == 2
    for missing in (Emitter("nix"), Emitter(99), Receiver("tx", 0)):
        assert missing.tag == 0 and missing.name == ""
    assert Emitter("nix").send(b"lost") == Emitter("nix").send([1]) == 0
    rover.step(32)
    assert simulator.commands() == []
    text = capsys.readouterr().err
    assert "device 'nix' was not found" in text and "'tx' has type Emitter, not Receiver" in text
    assert "wb_emitter_send(): invalid device tag." in text


def test_e5_a_buffer_without_a_limit_is_never_full(robot: Callable[..., Made]) -> None:
    _, _, tx = robot(emitter(buffer_size=-1))
    assert [tx.send(bytes(100_000)) for _ in range(20)] == [1] * 20 and tx.getBufferSize() == -1


@pytest.mark.parametrize(
    ("message", "length", "data"),
    [
        (bytes(range(256)), None, bytes(range(256))),
        (b"abcdef", 3, b"abc"),
        (bytearray(b"ab"), None, b"ab"),
        (memoryview(b"ab"), None, b"ab"),
        ("hé", None, b"h\xc3\xa9"),  # libController cuts after two bytes
        ([1.5, 2], None, struct.pack("2d", 1.5, 2)),
        ((1, -2), None, struct.pack("2i", 1, -2)),
        ([True, False], None, struct.pack("2i", 1, 0)),
        ([], None, None),
        (["a"], None, None),
        (7, None, None),
        (b"abc", 4, None),  # libController reads beyond the packet
        (b"abc", 0, None),
    ],
)
def test_what_send_takes(
    robot: Callable[..., Made], message: Any, length: int | None, data: bytes | None
) -> None:
    simulator, rover, tx = robot(emitter(buffer_size=-1))
    assert tx.send(message, length) == (data is not None)
    rover.step(32)
    assert [each.data for each in simulator.commands()] == ([] if data is None else [data])


def test_numbers_that_do_not_fit_raise(robot: Callable[..., Made]) -> None:
    _, _, tx = robot(emitter())
    with pytest.raises(struct.error):
        tx.send([1, 2.5])


def test_r3_to_r7_an_empty_queue_is_harmless(
    robot: Callable[..., Made], capsys: pytest.CaptureFixture[str]
) -> None:
    receiver = ("Receiver", "rx", lambda tag: ReceiverConfiguration(tag, 16, 7, ()))
    _, _, rx = robot(Simulator([receiver]))
    assert rx.getBytes() == rx.data == b"" and rx.getString() == ""
    assert rx.getFloats() == rx.getInts() == rx.getBools() == ()
    assert math.isnan(rx.getSignalStrength())
    assert all(math.isnan(each) for each in rx.getEmitterDirection())
    assert capsys.readouterr().err.count("the receiver queue is empty.") == 8
    rx.nextPacket()
    assert capsys.readouterr().err == ""
