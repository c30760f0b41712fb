"""The line itself: buffers, rates, noise, broken frames."""

import pytest
from hypothesis import given, strategies as st

from firmware_mocks.xbee.uart.serial_line import LONGEST, FrameReader, encode
from tests.firmware_mocks.bench import XBeeAir, wrap


def transparent(bench: XBeeAir, **parameters: object) -> tuple:  # type: ignore[type-arg]
    one = bench.add(api_mode=0, DL="FFFF", **parameters)
    two = bench.settled(position=(1, 0, 0), baudRate=115200)
    return one, two


def packets(bench: XBeeAir, module: object) -> list[bytes]:
    return [frame[11:] for frame in bench.frames(module)]  # type: ignore[arg-type]


MS = 1_000_000


def test_clear_to_send_falls_17_bytes_before_full_and_comes_back_at_34(bench: XBeeAir) -> None:
    one, two = bench.pair(hardware="s1")
    one.receive(wrap(b"\x00\x00" + two.address.to_bytes(8, "big") + b"\x00x"), bench.now)
    assert one.radio.busy
    one.receive(bytes(202 - 18), bench.now)
    assert one.input.clear_to_send
    one.receive(b"\x00", bench.now)
    assert not one.input.clear_to_send
    bench.run(100)
    assert one.input.clear_to_send
    assert one.clear_to_send  # without rtscts the client ignores CTS


def test_a_client_that_obeys_cts_never_overruns_the_buffer(bench: XBeeAir) -> None:
    """Retries make the radio slower than the line; the host holds the client meanwhile."""
    one = bench.add(hardware="s1", baudRate=115200, rtscts="true", RR="2")
    without = bench.settled(hardware="s1", baudRate=115200, rtscts="true", RR="2", D7="0")
    frames = b"".join(wrap(bytes((0, n)) + bytes(8) + b"\x00" + bytes(80)) for n in range(1, 30))
    lump = 5 * MS // one.uart.byte_ns
    held = 0
    for start in range(0, len(frames), lump):
        bench.run(5)
        while not one.clear_to_send:
            held += 1
            bench.run(1)
        one.receive(frames[start : start + lump], bench.now)
        without.receive(frames[start : start + lump], bench.now)
    bench.run(2000)
    assert [frame[1] for frame in bench.frames(one)] == list(range(1, 30))
    assert held > 10
    assert one.input.overruns == 0
    assert without.clear_to_send


def test_answers_wait_for_room_and_nothing_grows(bench: XBeeAir) -> None:
    module = bench.settled(baudRate=1200, ni="twenty characters!!!")
    for _ in range(200):
        module.receive(wrap(b"\x08\x01NI"), bench.now)
    assert module.uart.held(bench.now) <= 2 * 202
    bench.run(60_000)
    answered = len(bench.frames(module))
    assert 0 < answered < 200
    assert module.input.overruns > 0
    assert bench.ask(module, b"\x08\x02CH", 1000) == [b"\x88\x02CH\x00\x0c"]


@pytest.mark.parametrize(
    ("code", "rate"),
    [
        *enumerate((1200, 2400, 4800, 9600, 19200, 38400, 57600, 115200, 230400, 460800, 921600)),
        (250000, 250000),
    ],
)
def test_rate_codes_and_raw_rates(bench: XBeeAir, code: int, rate: int) -> None:
    assert bench.add(BD=f"{code:X}").baud_rate == rate
    assert bench.add(baudRate=rate).baud_rate == rate


def read(reader: FrameReader, wire: bytes) -> list[bytes]:
    return [frame for byte in wire if (frame := reader.push(byte)) is not None]


@given(st.lists(st.binary(min_size=1, max_size=300), max_size=4), st.booleans())
def test_every_frame_comes_back(frames: list[bytes], escaped: bool) -> None:
    wire = b"".join(encode(frame, escaped) for frame in frames)
    assert read(FrameReader(escaped), wire) == frames


@given(st.binary(max_size=60), st.binary(min_size=1, max_size=100))
def test_escaped_a_bare_delimiter_always_begins_a_new_frame(noise: bytes, data: bytes) -> None:
    broken = b"\x7e" + noise.replace(b"\x7d", b"")
    reader = FrameReader(escaped=True)
    assert read(reader, broken + encode(data, True))[-1] == data


def test_unescaped_a_cut_frame_takes_the_next_with_it_and_the_one_after_is_read() -> None:
    cut = encode(b"\x08\x01AP-and-more", False)[:-3]
    good = encode(b"\x08\x02AP", False)
    assert read(FrameReader(escaped=False), cut + good + good) == [b"\x08\x02AP"]


def test_a_bad_checksum_drops_that_frame_alone() -> None:
    bad = bytearray(encode(b"\x08\x01AP", False))
    bad[-1] ^= 1
    reader = FrameReader(escaped=False)
    assert read(reader, bytes(bad) + encode(b"\x08\x02AP", False)) == [b"\x08\x02AP"]
    assert reader.errors == 1


@pytest.mark.parametrize("length", [0, LONGEST + 1, 0xFFFF])
def test_an_impossible_length_is_noise(length: int) -> None:
    wire = b"\x7e" + length.to_bytes(2, "big") + encode(b"\x08\x02AP", False)
    assert read(FrameReader(escaped=False), wire) == [b"\x08\x02AP"]


def test_ro_0_sends_each_byte_as_it_comes(bench: XBeeAir) -> None:
    one, two = transparent(bench, RO="0")
    for byte in b"abc":
        bench.put(one, bytes((byte,)))
        bench.run(10)
    assert packets(bench, two) == [b"a", b"b", b"c"]
