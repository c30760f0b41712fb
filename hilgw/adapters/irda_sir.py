"""IrDA SIR transceivers on a UART: infra-red frames, half duplex, up to about 1 m.

Frame: address (7 bits and C/R), control 03 (unnumbered information), the packet. A broadcast
frame has address 127. Source: IrDA, Serial Infrared Link Access Protocol 1.1, sections 10.1 and
10.2.
"""

from dataclasses import dataclass
from typing import ClassVar

from hilgw.adapters._common.framed_line import FramedLineSession
from hilgw.adapters._common.routes import Inward, OneChannelRoute, Outward
from hilgw.adapters.base import (
    Adapter,
    CannotSend,
    Dropped,
    Event,
    Limits,
    Mapped,
    MockSpec,
    Problem,
    StationSettings,
    Transmission,
    line_of,
)
from hilgw.adapters.declaration import (
    DIRECTION_FROM_POSES,
    INFRA_RED,
    NOISE,
    STRENGTH_FROM_POSES,
    SettingsClass,
    unsupported,
)
from hilgw.errors import ConfigError
from hilgw.framing.sir import Sir, SirSettings
from hilgw.medium.packet import BROADCAST, Packet
from hilgw.reasons import DroppedReason, PacketDropped
from hilgw.settings import setting
from hilgw.units import ms_to_ns

RATES = (2400, 9600, 19200, 38400, 57600, 115200)
LAST_ADDRESS = 126
LARGEST = 2048  # IrLAP's largest data size
BROADCAST_ADDRESS = 127
COMMAND = 0x01  # C/R: a command, not a response
UNNUMBERED = 0x03
HEADER = 2

LIMITS = Limits(
    payload=LARGEST,
    window=1,
    channels="0 to 126, the connection address of each frame; -1 is address 127, broadcast",
    rates=RATES,
    mapping=(
        INFRA_RED,
        Mapped("channel", "exact", "the 7-bit address of the frame; `channel` is received"),
        Mapped("channel -1", "exact", "address 127: every station receives it"),
        Mapped("allowedChannels", "approximate", "only the simulated device obeys it"),
        Mapped(
            "range, maxRange", "cannot", "the diodes reach about 1 m; the medium filters by pose"
        ),
        Mapped("aperture", "cannot", "the diodes' beam is 30 degrees; the medium filters by pose"),
        Mapped("baudRate", "exact", "rate of the UART and of the light pulses"),
        Mapped("byteSize", "exact", "10: SIR is 8N1"),
        Mapped("bufferSize", "exact", "the gateway's transmit queue; one packet is one frame"),
        STRENGTH_FROM_POSES,
        DIRECTION_FROM_POSES,
        NOISE,
    ),
)


class IrdaDropped(DroppedReason):
    """Reasons of the adapter `irda_sir`."""

    OTHER_ADDRESS = "other_address", "a frame for another address"


@dataclass(frozen=True, slots=True, kw_only=True)
class IrdaSettings:
    """Settings of a SIR transceiver, besides those of every adapter."""

    turnaround_ms: float = setting(
        "pause between the last byte received and the first byte sent (IrLAP: at most 10)",
        10.0,
        ge=0,
        le=500,
        unit="ms",
    )
    extra_bofs: int = setting("XBOF bytes before each frame", 10, ge=0, le=48)
    max_payload: int = setting("longest packet", LARGEST, ge=1, le=LARGEST, unit="byte")
    echo: bool = setting("the transceiver receives its own light, as most do", True)


class IrdaRoute(OneChannelRoute):
    """The channel is the address of the frame; a broadcast is address 127."""

    def outward(self, packet: Packet) -> Outward:
        taken = super().outward(packet)
        if isinstance(taken, CannotSend):
            return taken
        address = BROADCAST_ADDRESS if packet.channel == BROADCAST else packet.channel
        return "", bytes((address << 1 | COMMAND, UNNUMBERED)) + taken[1]

    def inward(self, payload: bytes, *sources: str) -> Inward:
        if len(payload) <= HEADER or payload[1] != UNNUMBERED:
            return Dropped(PacketDropped.NO_PACKET, "a frame that is not unnumbered information")
        address = payload[0] >> 1
        if address not in (self.channel, BROADCAST_ADDRESS):
            return Dropped(IrdaDropped.OTHER_ADDRESS, f"a frame for address {address}")
        channel = BROADCAST if address == BROADCAST_ADDRESS else address
        return channel, payload[HEADER:]


class IrdaSession(FramedLineSession):
    """A transceiver. It does not send while it receives, nor for the turnaround time after."""

    def __init__(self, settings: IrdaSettings, common: StationSettings) -> None:
        sir = SirSettings(extra_bofs=settings.extra_bofs, max_payload=settings.max_payload + HEADER)
        super().__init__(
            lambda: Sir(sir), "sir", IrdaRoute(common.channel), common, local_echo=settings.echo
        )
        self._address = common.channel
        self._turnaround_ns = ms_to_ns(settings.turnaround_ms)
        self._own_until = 0  # end of the time in which the transceiver's own light comes back

    @property
    def identity(self) -> str:
        return f"SIR, {self._line.baudRate} bit/s, address {self._address}"

    def receive(self, data: bytes, now: int) -> list[Event]:
        if now > self._own_until:
            self._quiet.time_ns = max(self._quiet.time_ns, now + self._turnaround_ns)
        return super().receive(data, now)

    def send(self, packet: Packet, now: int) -> Transmission | CannotSend | None:
        frame = super().send(packet, now)
        if isinstance(frame, Transmission):
            self._own_until = now + self._line.duration_ns(len(frame.data)) + self._turnaround_ns
        return frame


class IrdaAdapter(Adapter):
    kind: ClassVar[str] = "irda_sir"
    type: ClassVar[str] = "infra-red"
    summary: ClassVar[str] = "IrDA SIR transceivers on a UART: infra-red frames, half duplex"
    Settings: ClassVar[SettingsClass] = IrdaSettings
    limits: ClassVar[Limits] = LIMITS

    def check(self, settings: IrdaSettings, common: StationSettings) -> list[Problem]:
        problems: list[Problem] = []
        if common.baudRate not in RATES:
            problems.append(unsupported(common.baudRate, RATES))
        if common.channel > LAST_ADDRESS:
            problem = f"{common.channel} is not a valid SIR address"
            problems.append(("channel", problem, f"use 0 to {LAST_ADDRESS}"))
        try:
            line = line_of(common)[0]
        except ConfigError:
            return problems  # reported elsewhere
        if line.byteSize != 10:
            problems.append(("parity", "SIR is always 8N1", "remove parity and stop_bits"))
        return problems

    def session(self, settings: IrdaSettings, common: StationSettings) -> IrdaSession:
        return IrdaSession(settings, common)

    def mock(self, settings: IrdaSettings, common: StationSettings) -> MockSpec:
        """Return a transceiver at this rate, with the same `echo`."""
        return MockSpec("irda_sir", {"baudRate": common.baudRate, "echo": settings.echo})


ADAPTER = IrdaAdapter()
