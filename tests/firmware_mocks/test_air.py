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


def test_who_has_left_receives_nothing() -> None:
    air, sender, gone = Air(), Listener(), Listener()
    air.join(sender)
    air.join(gone)
    air.leave(gone)
    assert transmit(air, sender) == []
    drain(air)
    assert gone.received == []


@pytest.mark.parametrize("loss", [-0.1, 1.1, float("nan")])
def test_a_loss_that_is_not_a_share_is_refused(loss: float) -> None:
    with pytest.raises(ValueError, match="between 0 and 1"):
        Air(loss=loss)
