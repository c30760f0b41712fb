"""USB IR Toy: sends and receives infra-red remote control codes."""

from typing import ClassVar

from hilgw.adapters.base import Adapter, Limits, Mapped, MockSpec, Probe, Problem, StationSettings
from hilgw.adapters.declaration import (
    DIRECTION_FROM_POSES,
    INFRA_RED,
    NOISE,
    STRENGTH_FROM_POSES,
    SettingsClass,
)
from hilgw.adapters.ir_toy.receiver import LONGEST_RAW
from hilgw.adapters.ir_toy.session import IrToySession
from hilgw.adapters.ir_toy.settings import IrToySettings, check

LIMITS = Limits(
    payload=2 * LONGEST_RAW,
    window=1,
    channels="mapping channel: `channel` only; address: the addresses of the code (NEC 0 to 255, "
    "extended NEC and Onkyo 0 to 65535, RC5 and SIRC 0 to 31, RC6 and SIRC-15 0 to 255, SIRC-20 0 "
    "to 8191, RC6A 0 to 4194303), or those of the table",
    rates=(57600, 115200, 230400, 460800, 921600),
    silence="where the diodes point, and that both sides have one code, address and carrier",
    answers=True,
    mapping=(
        INFRA_RED,
        Mapped(
            "channel",
            "approximate",
            "mapping channel: one IR Toy is one channel, and a packet is address and command; "
            "address: the channel is the address (or a table gives its address and carrier), and "
            "a packet is the command. Light has no channels: the receiver receives all carriers "
            "and filters by address",
        ),
        Mapped(
            "channel -1",
            "approximate",
            "mapping channel: sent as on `channel`; address: to every address of the table, or to "
            "the address `channel`. Received on all channels of the mapping",
        ),
        Mapped(
            "baudRate",
            "approximate",
            "set by the code: NEC 148 bit/s of address and command (296 with their inverses), RC5 "
            "105, RC6 150, SIRC-12 89 (three frames). With a framing NEC 74 bit/s, RC5 35, RC6 75, "
            "SIRC 30. Packets of a faster Emitter wait in bufferSize",
        ),
        Mapped("byteSize", "cannot", "a code has its own bits; byteSize only paces the line"),
        Mapped(
            "bufferSize",
            "exact",
            "the gateway's transmit queue. A packet has 2 bytes with NEC, RC5, RC6, SIRC-12 and "
            "SIRC-15, 3 with extended NEC and SIRC-20, 4 with Onkyo and RC6A, 2 per duration with "
            "raw (up to 512), and up to 256 with a framing",
        ),
        Mapped(
            "range, maxRange", "cannot", "the LED has one brightness; the medium filters by pose"
        ),
        Mapped(
            "aperture",
            "cannot",
            "fixed by the LED and the IR receiver; the medium filters by pose",
        ),
        Mapped("allowedChannels", "approximate", "only the simulated device obeys it"),
        STRENGTH_FROM_POSES,
        DIRECTION_FROM_POSES,
        NOISE,
    ),
)

AHEAD = 32  # blocks; the longest burst has 17


class IrToyAdapter(Adapter):
    kind: ClassVar[str] = "ir_toy"
    type: ClassVar[str] = "infra-red"
    summary: ClassVar[str] = "USB IR Toy: remote control codes NEC, RC5, RC6, SIRC, and raw timings"
    Settings: ClassVar[SettingsClass] = IrToySettings
    limits: ClassVar[Limits] = LIMITS
    probes: ClassVar[tuple[Probe, ...]] = (Probe(IrToySettings(), (115200,), ((0x04D8, 0xFD08),)),)

    def check(self, settings: IrToySettings, common: StationSettings) -> list[Problem]:
        return list(check(settings, common))

    def session(self, settings: IrToySettings, common: StationSettings) -> IrToySession:
        return IrToySession(settings, common)

    def mock(self, settings: IrToySettings, common: StationSettings) -> MockSpec:
        """Return a toy that buffers a whole burst before it transmits, unless `mock` overrides it.

        The mock shares the gateway's CPU time, so on a busy machine it would report underruns that
        the hardware does not have.
        """
        return MockSpec("ir_toy", {"ahead": AHEAD, **settings.mock})


ADAPTER = IrToyAdapter()
