"""UART and deadlines, as every mock has them."""

import pytest

from firmware_mocks import text_module
from firmware_mocks.air import Air
from firmware_mocks.base import Mock, Timers, Uart
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
