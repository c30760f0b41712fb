"""Samples of the pins: on demand (IS), periodic (IR, IT), and when a line changes (IC)."""

from dataclasses import dataclass

from firmware_mocks.base import MS, Timers
from firmware_mocks.xbee.hardware import MAC_FAMILY
from firmware_mocks.xbee.network.packets import SAMPLE, ignore
from firmware_mocks.xbee.network.radio import Transceiver
from firmware_mocks.xbee.pins import (
    Pins,
    Sample,
    digital_sample,
    extended_data,
    extended_text,
    standard_data,
    standard_text,
)
from firmware_mocks.xbee.settings import Settings
from firmware_mocks.xbee.uart.commands import Answer, Reply, Status


@dataclass(frozen=True, slots=True)
class Samples:
    """The body of a packet with samples."""

    taken: tuple[Sample, ...]


def uses_standard_format(settings: Settings) -> bool:
    """Return whether frames 82 and 83, and their lines, are used: S1, and 802.15.4 with AO 2."""
    hardware = settings.hardware
    return hardware.family == MAC_FAMILY and (not hardware.modern or settings.number("AO") == 2)


class Sampler:
    """Takes samples of the pins and sends them to DH and DL."""

    def __init__(self, settings: Settings, radio: Transceiver, timers: Timers) -> None:
        self.pins = Pins(settings)
        self._settings = settings
        self._radio = radio
        self._timers = timers
        self._taken: list[Sample] = []
        self._last: dict[int, bool] = {}

    def restart(self, now: int) -> None:
        self._taken.clear()
        self._last = self.pins.digital()
        self._start_period(now)

    def settings_changed(self, names: frozenset[str], now: int) -> None:
        """Use the new values of these registers."""
        if "IR" in names:
            self._taken.clear()
            self._start_period(now)
        self.look(now)

    # --- on demand ------------------------------------------------------------------------------

    def answer(self, value: bytes, reply: Reply, now: int) -> None:
        """Answer IS; without an enabled line it is an error."""
        sample = self.pins.sample()
        standard = uses_standard_format(self._settings)
        if (sample.standard if standard else sample).empty:
            reply(Answer(Status.ERROR), now)
        elif standard:
            reply(Answer(value=standard_data((sample,)), text=standard_text(sample)), now)
        else:
            reply(Answer(value=extended_data(sample), text=extended_text(sample)), now)

    # --- periodic -------------------------------------------------------------------------------

    def _start_period(self, now: int) -> None:
        period_ms = self._settings.number("IR")
        if period_ms:
            self._timers.start("sample", now + period_ms * MS, self._sample)
        else:
            self._timers.stop("sample")

    def _sample(self, now: int) -> None:
        # IT samples make a packet; other formats than the standard one carry one sample.
        self._start_period(now)
        sample = self.pins.sample()
        if self._taken and sample.standard_mask != self._taken[0].standard_mask:
            self._taken.clear()  # other lines are enabled now
        self._taken.append(sample)
        standard = uses_standard_format(self._settings)
        if len(self._taken) >= (self._settings.number("IT") if standard else 1):
            taken, self._taken = tuple(self._taken), []
            self._send(taken, now)

    # --- changes --------------------------------------------------------------------------------

    def look(self, now: int) -> None:
        """Send the digital lines when one that IC selects has changed."""
        before, self._last = self._last, self.pins.digital()
        watched = self._settings.number("IC")
        if any(
            watched >> bit & 1 and before.get(bit, high) != high for bit, high in self._last.items()
        ):
            self._send((digital_sample(self._last),), now)

    def _send(self, taken: tuple[Sample, ...], now: int) -> None:
        # Without Digi's header (MM 1 and 2), a module cannot send samples.
        if taken[0].empty or not self._settings.has_header:
            return
        standard = uses_standard_format(self._settings)
        data = standard_data(taken) if standard else extended_data(taken[0])
        request = self._radio.addressing.to_destination(data, kind=SAMPLE, body=Samples(taken))
        self._radio.send(request, ignore, now)
