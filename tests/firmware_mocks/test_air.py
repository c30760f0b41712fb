"""The air: which radio receives which signal, how strong and when, and loss."""

from collections.abc import Hashable
from dataclasses import dataclass, field

import pytest

from firmware_mocks.air import Air, Radio, Signal


@dataclass(eq=False)
class Listener:
    name: str = "radio"
    position: tuple[float, float, float] = (0.0, 0.0, 0.0)
    sensitivity_dbm: float = -92.0
    band: Hashable = "band"
    acknowledges: bool = True
    received: list[tuple[int, object, float]] = field(default_factory=list)

    def signal_received(self, signal: Signal, rssi_dbm: float, now: int) -> bool:
        self.received.append((now, signal.frame, rssi_dbm))
        return self.acknowledges


def transmit(
    air: Air, sender: Listener, frame: object = "frame", duration: int = 1000, answer: int = 0
) -> list[tuple[list[Radio], int]]:
    """Sends at time 0; gives the list the result will be put in."""
    results: list[tuple[list[Radio], int]] = []
    signal = Signal(sender, sender.band, frame, -40.0, duration, answer)
    air.transmit(signal, lambda radios, now: results.append((radios, now)), 0)
    return results


def drain(air: Air) -> None:
    while (due := air.next_deadline()) is not None:
        air.advance(due)


@pytest.mark.parametrize(
    ("distance", "rssi"), [(0.0, -20.0), (0.1, -20.0), (1.0, -40.0), (10.0, -60.0), (100.0, -80.0)]
)
def test_20_db_per_decade_of_distance(distance: float, rssi: float) -> None:
    air, sender, far = Air(), Listener(), Listener(position=(0.0, distance, 0.0))
    air.join(sender)
    air.join(far)
    transmit(air, sender)
    drain(air)
    assert far.received == [(1000, "frame", pytest.approx(rssi))]
    assert sender.received == []


def test_received_only_on_the_same_band_in_reach_and_when_not_deaf() -> None:
    air, sender = Air(), Listener()
    near = Listener(position=(398.0, 0.0, 0.0))
    far = Listener(position=(399.0, 0.0, 0.0))  # -92.02 dBm
    other = Listener(band="other")
    deaf = Listener(band=None)
    for radio in (sender, near, far, other, deaf):
        air.join(radio)
    result = transmit(air, sender)
    drain(air)
    assert [len(radio.received) for radio in (near, far, other, deaf)] == [1, 0, 0, 0]
    assert result == [([near], 1000)]


def test_who_has_left_receives_nothing() -> None:
    air, sender, gone = Air(), Listener(), Listener()
    air.join(sender)
    air.join(gone)
    air.leave(gone)
    assert transmit(air, sender) == []
    drain(air)
    assert gone.received == []


def test_one_transmission_at_a_time_in_the_order_asked_for() -> None:
    air, one, two = Air(), Listener("one"), Listener("two")
    receiver, elsewhere = Listener("ear", acknowledges=False), Listener("elsewhere", band="b2")
    for radio in (one, two, receiver, elsewhere):
        air.join(radio)
    transmit(air, one, "first", 1000, 500)
    transmit(air, two, "second", 300)
    transmit(air, elsewhere, "free", 200)
    drain(air)
    assert [(when, frame) for when, frame, _ in receiver.received] == [
        (1000, "first"),
        (1800, "second"),
    ]
    assert air.next_deadline() is None


def test_the_sender_gets_notice_of_the_acknowledgement_after_its_time() -> None:
    air, sender = Air(), Listener()
    silent = Listener(acknowledges=False)
    air.join(sender)
    air.join(silent)
    assert transmit(air, sender, duration=1000, answer=500) == []
    result = transmit(air, sender, duration=1000, answer=500)
    drain(air)
    assert result == [([], 3000)]


def test_loss_is_of_the_share_given_and_repeats_with_its_seed() -> None:
    def received(seed: int) -> list[object]:
        air, sender, receiver = Air(seed=seed, loss=0.3), Listener(), Listener(acknowledges=False)
        air.join(sender)
        air.join(receiver)
        for number in range(2000):
            transmit(air, sender, number, 1)
        drain(air)
        return [frame for _, frame, _ in receiver.received]

    assert received(1) == received(1)
    assert received(1) != received(2)
    assert 1330 <= len(received(1)) <= 1470  # 1400, three standard deviations


def test_acknowledgements_are_lost_too() -> None:
    air, sender, receiver = Air(seed=3, loss=0.5), Listener(), Listener()
    air.join(sender)
    air.join(receiver)
    results = [transmit(air, sender, number, 1) for number in range(400)]
    drain(air)
    acknowledged = sum(bool(radios) for result in results for radios, _ in result)
    assert 160 <= len(receiver.received) <= 240
    assert 70 <= acknowledged <= 130


@pytest.mark.parametrize("loss", [-0.1, 1.1, float("nan")])
def test_a_loss_that_is_not_a_share_is_refused(loss: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        Air(loss=loss)
