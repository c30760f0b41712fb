"""USB IR Toy: infra-red remote control codes, sent and received."""

from __future__ import annotations

from typing import Any, ClassVar

from hilgw.adapters._common.field_mapping import (
    DIRECTION_FROM_POSES,
    INFRA_RED,
    NOISE,
    STRENGTH_FROM_POSES,
)
from hilgw.adapters.base import Limits, Mapped, MockSpec, Probe, Problem, StationSettings
from hilgw.adapters.ir_toy import settings as _ir_toy_settings
from hilgw.adapters.ir_toy.packets import LONGEST_RAW
from hilgw.adapters.ir_toy.session import IrToySession
from hilgw.adapters.ir_toy.settings import IrToySettings

LIMITS = Limits(
    payload=2 * LONGEST_RAW,
    window=1,
    channels="mapping channel: `channel` alone; address: the addresses of the code (NEC 0 to 255, "
    "extended NEC and Onkyo 0 to 65535, RC5 and SIRC 0 to 31, RC6 and SIRC-15 0 to 255, SIRC-20 0 "
    "to 8191, RC6A 0 to 4194303), or those of the table",
    rates=(57600, 115200, 230400, 460800, 921600),
    mapping=(
        INFRA_RED,
        Mapped(
            "channel",
            "approximate",
            "mapping channel: one toy is one channel, and a packet is address and command; "
            "address: the channel is the address (or stands in a table for an address and a "
            "carrier), and a packet is the command. Light has no channels: a receiver hears all "
            "carriers and goes by the address",
        ),
        Mapped(
            "channel -1",
            "approximate",
            "mapping channel: sent as on `channel`; address: to every address of the table, or to "
            "the address `channel`. Heard on all channels the mapping has",
        ),
        Mapped(
            "baudRate",
            "approximate",
            "follows the code and cannot be set: NEC 148 bit/s of address and command (296 with "
            "their inverses), RC5 105, RC6 150, SIRC-12 89 (three sends). With a framing "
            "NEC 74 bit/s, RC5 35, RC6 75, SIRC 30. An Emitter that is faster waits in bufferSize",
        ),
        Mapped("byteSize", "cannot", "a code has its own bits; pacing counts what is set"),
        Mapped(
            "bufferSize",
            "exact",
            "the gateway's queue. A packet is NEC, RC5, RC6, SIRC-12, SIRC-15: 2 bytes; extended "
            "NEC, SIRC-20: 3; Onkyo, RC6A: 4; raw: 2 for each duration, up to 512; with a "
            "framing: up to 256",
        ),
        Mapped(
            "range, maxRange", "cannot", "the LED has one brightness; the medium filters by pose"
        ),
        Mapped(
            "aperture", "cannot", "that of the LED and the receiver; the medium filters by pose"
        ),
        Mapped("allowedChannels", "approximate", "the simulated device keeps to it; light cannot"),
        STRENGTH_FROM_POSES,
        DIRECTION_FROM_POSES,
        NOISE,
    ),
)

AHEAD = 32  # blocks; the longest burst has 17

_SettingsClass = type[IrToySettings]


class IrToyAdapter:
    """See `hilgw.adapters.base.Adapter`."""

    kind: ClassVar[str] = "ir_toy"
    type: ClassVar[str] = "infra-red"
    summary: ClassVar[str] = "USB IR Toy: remote control codes NEC, RC5, RC6, SIRC, and raw timings"
    Settings: ClassVar[_SettingsClass] = IrToySettings
    limits: ClassVar[Limits] = LIMITS
    probes: ClassVar[tuple[Probe, ...]] = (Probe(IrToySettings(), (115200,), ((0x04D8, 0xFD08),)),)

    def check(self, settings: IrToySettings, common: StationSettings) -> list[Problem]:
        """Problems between fields: path below the adapter, message, what to do."""
        return _ir_toy_settings.check(settings, common)

    def session(self, settings: IrToySettings, common: StationSettings) -> IrToySession:
        return IrToySession(settings, common)

    def mock(self, settings: IrToySettings, common: StationSettings) -> MockSpec:
        """A toy that has all of a burst before it shines, but for what `mock` says: it shares the
        gateway's time, so a busy machine would starve it as no real one is starved."""
        parameters: dict[str, Any] = {"ahead": AHEAD, **settings.mock}
        return MockSpec("ir_toy", parameters)


ADAPTER = IrToyAdapter()
