"""DigiMesh and 900HP: frames 10, 11, 8B, 90, 91."""

import pytest

from tests.firmware_mocks.bench import BROADCAST, XBeeAir

OK_ROUTED, OK = b"\xff\xfe\x00\x00\x02", b"\xff\xfe\x00\x00\x00"


@pytest.mark.parametrize("kind", ["digimesh", "900hp"])
def test_the_first_packet_discovers_a_route(bench: XBeeAir, kind: str) -> None:
    one, two = bench.pair(hardware=kind)
    assert bench.tx(one, two.address, b"first") == OK_ROUTED
    assert bench.tx(one, two.address, b"second") == OK
    source = b"\x90" + one.address.to_bytes(8, "big") + b"\xff\xfe\xc1"
    assert bench.frames(two) == [source + b"first", source + b"second"]
    assert bench.get(two, b"DB") == b"\x28"


@pytest.mark.parametrize(
    ("options", "unicast", "broadcast"), [(0, 0xC1, 0xC2), (0x40, 0x41, 0x42), (0x80, 0x81, 0x82)]
)
def test_receive_options_report_the_mode(
    bench: XBeeAir, options: int, unicast: int, broadcast: int
) -> None:
    one, two = bench.pair(hardware="digimesh")
    bench.tx(one, two.address, b"x", options=options)
    assert bench.frames(two)[0][11] == unicast
    assert bench.tx(one, BROADCAST, b"x", options=options) == OK
    assert bench.frames(two)[0][11] == broadcast


def test_explicit_output(bench: XBeeAir) -> None:
    one, two = bench.add(hardware="digimesh"), bench.add(hardware="digimesh", AO="1")
    bench.settle()
    bench.tx(one, two.address, b"x")
    source = one.address.to_bytes(8, "big")
    assert bench.frames(two) == [b"\x91" + source + b"\xff\xfe\xe8\xe8\x00\x11\xc1\x05\xc1x"]


def test_lost_again_and_again() -> None:
    bench = XBeeAir(loss=1.0)
    one, two = bench.pair(hardware="digimesh", RR="1", MR="1")
    address, retries, delivery, _ = (lambda s: (s[:2], s[2], s[3], s[4]))(
        bench.tx(one, two.address, b"x")
    )
    assert (address, retries, delivery) == (b"\xff\xfe", 3, 0x21)


@pytest.mark.parametrize(
    ("kind", "difference"),
    [
        ("digimesh", {"channel": 13}),
        ("digimesh", {"pan_id": 1}),
        ("900hp", {"channel": 3}),
        ("900hp", {"BR": "0"}),
        ("900hp", {"pan_id": 1}),
    ],
)
def test_other_networks_are_apart(bench: XBeeAir, kind: str, difference: dict[str, object]) -> None:
    one, two = bench.add(hardware=kind), bench.add(hardware=kind, **difference)
    bench.settle()
    assert bench.tx(one, two.address, b"x")[3] == 0x25
    assert bench.frames(two) == []


@pytest.mark.parametrize(
    ("kind", "parameters", "most"),
    [("digimesh", {}, 73), ("digimesh", {"EE": "1"}, 65), ("900hp", {}, 256)],
)
def test_the_largest_payload(
    bench: XBeeAir, kind: str, parameters: dict[str, str], most: int
) -> None:
    one, two = bench.pair(hardware=kind, **parameters)
    assert bench.get(one, b"NP") == most.to_bytes(2, "big")
    assert bench.tx(one, two.address, bytes(most))[3] == 0
    assert bench.tx(one, two.address, bytes(most + 1))[3] == 0x74


def test_digimesh_has_no_frames_00_and_01_and_no_my(bench: XBeeAir) -> None:
    one, two = bench.pair(hardware="digimesh")
    assert bench.ask(one, b"\x00\x01" + two.address.to_bytes(8, "big") + b"\x00x") == []
    assert bench.at(one, b"MY") == b"\x02"


def test_the_duty_cycle_is_used_up_and_comes_back(bench: XBeeAir) -> None:
    """868 MHz: some packets go, more are refused with status 04, and after an hour one goes."""
    one, two = bench.pair(hardware="900hp", duty_cycle=1e-5)  # 36 ms of each hour
    statuses = [bench.tx(one, two.address, bytes(100))[3] for _ in range(10)]
    sent = statuses.index(0x04)
    assert sent >= 2
    assert statuses == [0] * sent + [0x04] * (10 - sent)
    assert len(bench.frames(two)) == sent
    bench.run(3_600_000)
    assert bench.tx(one, two.address, bytes(100))[3] == 0
