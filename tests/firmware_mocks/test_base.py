"""UART and deadlines, as every mock has them."""

import pytest

from firmware_mocks.base import Mock, Timers, Uart

MS = 1_000_000


def test_timers_run_in_order_of_time_and_a_name_stands_once() -> None:
    timers, ran = Timers(), []
    timers.start("late", 30, lambda now: ran.append("late"))
    timers.start("early", 10, lambda now: ran.append("early"))
    timers.start("moved", 5, lambda now: ran.append("wrong"))
    timers.start("moved", 20, lambda now: ran.append("moved"))
    timers.start("stopped", 15, lambda now: ran.append("wrong"))
    timers.stop("stopped")
    assert timers.next() == 10
    timers.run(29)
    assert ran == ["early", "moved"]
    assert timers.next() == 30
    timers.run(30)
    assert ran == ["early", "moved", "late"]
    assert timers.next() is None


def test_a_timer_may_start_another_that_is_due_already() -> None:
    timers, ran = Timers(), []
    timers.start("a", 10, lambda now: timers.start("b", 11, lambda when: ran.append(when)))
    timers.run(50)
    assert ran == [50]


def test_bytes_leave_at_their_time_and_in_order() -> None:
    uart = Uart("seed")
    uart.write(b"first", 5 * MS)
    uart.write(b"second", 1 * MS)  # written later: never before the first
    assert uart.take(5 * MS - 1) == b""
    assert uart.next_deadline() == 5 * MS
    assert uart.take(5 * MS) == b"firstsecond"
    assert uart.next_deadline() is None


def test_the_transmit_buffer_empties_at_the_line_rate() -> None:
    uart = Uart("seed", baud_rate=9600)
    uart.write(bytes(96), 0)
    assert uart.held(0) == 96
    uart.take(0)
    assert uart.held(50 * MS) == 48  # 96 bytes take 100 ms at 9600 baud
    assert uart.held(100 * MS) == 0
    uart.write(bytes(96), 100 * MS)
    assert uart.idle_at(100 * MS) == 100 * MS + 96 * uart.byte_ns


def test_a_change_waits_until_what_was_written_has_left_the_pin() -> None:
    uart = Uart("seed", baud_rate=1000)
    uart.write(b"abc", 0)

    def speed_up(now: int) -> None:
        uart.baud_rate = 2000

    uart.change(speed_up, 0)
    uart.write(b"def", 0)
    assert uart.take(0) == b"abc"
    assert uart.baud_rate == 1000
    assert uart.next_deadline() == 30 * MS
    assert uart.take(30 * MS - 1) == b""
    assert uart.take(30 * MS) == b""  # the change stands between the bytes
    assert uart.baud_rate == 2000
    assert uart.take(30 * MS) == b"def"


@pytest.mark.parametrize("rate", [115200, 111111, None])
def test_rates_close_enough_understand_each_other(rate: int | None) -> None:
    uart = Uart("seed", baud_rate=115200)
    uart.host_baud = rate
    assert uart.distort(bytes(range(256))) == bytes(range(256))


def test_other_rates_make_noise_the_same_in_every_run() -> None:
    def noise(seed: str) -> bytes:
        uart = Uart(seed, baud_rate=115200)
        uart.host_baud = 9600
        uart.write(bytes(64), 0)
        return uart.distort(bytes(64)) + uart.take(0)

    assert noise("seed") == noise("seed")
    assert noise("seed") != noise("other")
    assert noise("seed")[:64] != bytes(64)
    assert noise("seed")[64:] != bytes(64)


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
