"""UART, deadlines, CRCs and framings, as every mock has them."""

import pytest
from hypothesis import given, strategies as st

from firmware_mocks import text_module
from firmware_mocks._framing.crc import NAMED, crc_of
from firmware_mocks._framing.specs import framing_of
from firmware_mocks.air import Air
from firmware_mocks.base import Mock, Timers, Uart
from hilgw.framing.crc import named
from tests.firmware_mocks.bench import AirBench

MS = 1_000_000


def test_a_timer_may_start_another_that_is_due_already() -> None:
    timers, ran = Timers(), []
    timers.start("a", 10, lambda now: timers.start("b", 11, lambda when: ran.append(when)))
    timers.run(50)
    assert ran == [50]


@pytest.mark.parametrize("rate", [115200, 111111, None])
def test_rates_close_enough_understand_each_other(rate: int | None) -> None:
    uart = Uart("seed", baud_rate=115200)
    uart.host_baud = rate
    assert uart.distort(bytes(range(256))) == bytes(range(256))


def test_a_mock_wants_to_be_called_at_its_earliest_deadline() -> None:
    class Some(Mock):
        def receive(self, data: bytes, now: int) -> None: ...

        def reset(self, now: int) -> None: ...

    mock = Some("some")
    assert mock.next_deadline() is None
    mock.uart.write(b"x", 20)
    assert mock.next_deadline() == 20
    mock.timers.start("t", 10, lambda now: None)
    assert mock.next_deadline() == 10
    mock.host_baud = 19200
    assert mock.uart.host_baud == 19200
    assert (mock.baud_rate, mock.bits_per_byte) == (9600, 10)
    assert mock.describe() == "some"
    with pytest.raises(ValueError, match="colour: no parameter"):
        mock.set("colour", "red")


def test_bytes_that_are_written_for_later_follow_each_other() -> None:
    """The line is idle in between: bytes that leave before do not count twice."""
    uart = Uart("seed", baud_rate=9600)
    uart.write(b"12", 0)
    uart.write(b"34", 100 * MS)
    assert uart.idle_at(0) == 100 * MS + 2 * uart.byte_ns


@pytest.mark.parametrize("loss", [-0.1, 1.1, float("nan")])
def test_a_loss_that_is_not_a_share_is_refused(loss: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        Air(loss=loss)


SPEECH = {
    "banner": "READY",
    "answers": {"AT": "OK", "VER=.": "1.0"},
    "transmit": r"SEND (?P<destination>\d+) (?P<length>\d+) ",
    "accepted": "QUEUED",
    "sent": "SENT",
    "refused": "BUSY",
    "receive": "GOT {source} {length} {data} {hex} {rssi}",
}


def test_the_wrong_rate_and_too_long_a_line_are_lost() -> None:
    bench = AirBench(text_module.create, {"address": 1, **SPEECH})
    bench.run(100)
    bench.taken()
    bench.modules[0].host_baud = 9600
    assert bench.ask(0, b"AT\r\n", 300) != b"OK\r\n"
    bench.modules[0].host_baud = 115_200
    bench.run(1000)
    bench.taken()
    bench.ask(0, b"x" * 3000, 300)
    assert bench.modules[0].overruns == 3000 - 2048
    bench.run(1000)
    assert bench.ask(0, b"AT\r\n", 300) == b"OK\r\n"


@pytest.mark.parametrize("name", [*NAMED, "poly=0x18005,init=0xFFFF,rev=true,xorOut=0xFFFF"])
@given(data=st.binary(max_size=80))
def test_crcs_are_those_of_the_gateway(name: str, data: bytes) -> None:
    crc = crc_of(name)
    assert (crc is None) == (name == "none")
    if crc is not None:
        assert crc.of(data) == named(name).compute(data)


def test_crcs_of_the_usual_nine_characters() -> None:
    sums = {"crc16": 0x29B1, "xmodem": 0x31C3, "x-25": 0x906E, "modbus": 0x4B37}
    for name, value in {**sums, "crc32": 0xCBF43926}.items():
        crc = crc_of(name)
        assert crc is not None
        assert crc.of(b"123456789") == value
    for name in ("crc17", "poly=5", "poly=0x1021", "init=3"):
        with pytest.raises(ValueError, match=r"CRC|degree"):
            crc_of(name)


@pytest.mark.parametrize(
    ("name", "wire"),
    [
        ("cobs-crc16", "02 48 05 7E C0 9D 85 00"),
        ("slip-crc16", "C0 48 00 7E DB DC 9D 85 C0"),
        ("hdlc", "7E 48 00 7D 5E C0 69 A3 7E"),
        ("length", "AA 55 00 04 48 00 7E C0 9E 53"),
        ("lines", "48 00 7E C0 0A"),
        ("lines-crlf", "48 00 7E C0 0D 0A"),
        ("gap:20ms", "48 00 7E C0"),
        ("raw", "48 00 7E C0"),
    ],
)
def test_frames_as_documented(name: str, wire: str) -> None:
    assert framing_of(name).encode(bytes.fromhex("48 00 7E C0")) == bytes.fromhex(wire)
