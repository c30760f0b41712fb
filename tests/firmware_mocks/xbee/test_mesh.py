"""DigiMesh and 900HP: frames 10, 11, 8B, 90, 91."""

import pytest

from tests.firmware_mocks.bench import XBeeAir


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
