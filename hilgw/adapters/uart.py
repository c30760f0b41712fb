"""A serial line to a microcontroller or an instrument: no radio and no module, only a framing."""

from dataclasses import dataclass
from typing import Any, ClassVar

from hilgw.adapters._common.framed_line import FramedLineSession, line_route
from hilgw.adapters._common.framing_settings import (
    FramingSettings,
    check_framing,
    in_full,
    name_of,
    new_framing,
)
from hilgw.adapters.base import Adapter, Limits, Mapped, MockSpec, Problem, StationSettings, line_of
from hilgw.adapters.declaration import (
    BYTE_SIZE,
    DIRECTION_FROM_POSES,
    NOISE,
    STRENGTH_FROM_POSES,
    ByHeader,
    Framed,
    HasMapping,
    OneChannel,
    SettingsClass,
)
from hilgw.framing.base import LONGEST_PAYLOAD
from hilgw.settings import setting

# The standard rates of Linux; drivers accept others too.
RATES = (
    *(50, 75, 110, 150, 200, 300, 600, 1200, 1800, 2400, 4800, 9600, 19200, 38400, 57600),
    *(115200, 230400, 460800, 500000, 576000, 921600, 1000000, 1152000, 1500000, 2000000),
    *(2500000, 3000000, 3500000, 4000000),
)

LIMITS = Limits(
    payload=LONGEST_PAYLOAD,
    window=1024,  # frames are not acknowledged; the line itself is the limit
    channels="mapping channel: `channel` only; header: 0 to 254, in the first byte of each packet",
    rates=RATES,
    data_bits=(7, 8),
    mapping=(
        Mapped("type", "exact", "serial"),
        Mapped(
            "channel",
            "exact",
            "mapping channel: the line is one channel; header: one byte before the payload",
        ),
        Mapped("channel -1", "exact", "sent like any packet (header: 255)"),
        Mapped(
            "allowedChannels",
            "approximate",
            "the simulated device obeys it; the line has no channels to reject",
        ),
        Mapped("range, maxRange", "cannot", "a wire has no range; the medium filters by pose"),
        Mapped("aperture", "cannot", "a wire has no direction"),
        Mapped("baudRate", "exact", "rate of the line, 50 to 4000000, non-standard rates too"),
        BYTE_SIZE,
        Mapped(
            "bufferSize",
            "exact",
            "the gateway's transmit queue; one packet is one frame, up to the framing's "
            "max_payload (default 4096)",
        ),
        STRENGTH_FROM_POSES,
        DIRECTION_FROM_POSES,
        NOISE,
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class UartSettings(Framed, HasMapping):
    """Settings of a UART, besides those of every adapter."""

    framing: str | FramingSettings = setting(
        "how packets are separated on the line: a short name, or a mapping with the settings "
        "of one framing (docs/framing.md)",
        "cobs-crc16",
        example="cobs-crc16",
    )
    mapping: OneChannel | ByHeader = setting("how a Webots channel maps to the line", OneChannel())
    local_echo: bool = setting(
        "the line receives its own bytes (RS-485 with its receiver on, one wire): the echo of a "
        "packet just sent is dropped",
        False,
    )
    mock: dict[str, Any] = setting(
        "parameters of the mock microcontroller (`hilgw mock uart_node --list`)",
        default_factory=dict,
    )


class UartAdapter(Adapter):
    kind: ClassVar[str] = "uart"
    type: ClassVar[str] = "serial"
    summary: ClassVar[str] = "a serial line with a framing: a microcontroller, an instrument"
    Settings: ClassVar[SettingsClass] = UartSettings
    limits: ClassVar[Limits] = LIMITS

    def check(self, settings: UartSettings, common: StationSettings) -> list[Problem]:
        return check_framing(settings.framing, common)

    def session(self, settings: UartSettings, common: StationSettings) -> FramedLineSession:
        return FramedLineSession(
            new_framing(settings.framing, common),
            name_of(settings.framing),
            line_route(settings.mapping, common.channel),
            common,
            local_echo=settings.local_echo,
        )

    def mock(self, settings: UartSettings, common: StationSettings) -> MockSpec:
        """Return a microcontroller with this line and framing; the setting `mock` overrides."""
        return MockSpec(
            "uart_node",
            {
                "baudRate": common.baudRate,
                "byteSize": line_of(common)[0].byteSize,
                "framing": in_full(settings.framing),
                "rtscts": common.rtscts,
                **settings.mock,
            },
        )


ADAPTER = UartAdapter()
