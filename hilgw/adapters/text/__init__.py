"""Any module with text commands, declared in the configuration."""

from typing import ClassVar

from hilgw.adapters.base import Adapter, Limits, Mapped, MockSpec, Problem, StationSettings, line_of
from hilgw.adapters.declaration import (
    ALL_AROUND,
    BYTE_SIZE,
    DIRECTION_FROM_POSES,
    NOISE,
    RADIO,
    SettingsClass,
)
from hilgw.adapters.text.session import TextSession
from hilgw.adapters.text.settings import TextSettings, check
from hilgw.adapters.uart import RATES

LIMITS = Limits(
    payload=1024,
    window=1,
    channels="mapping channel: `channel` only; destination: those of the table and `channel`; "
    "header: 0 to 254",
    rates=RATES,
    answers=True,
    mapping=(
        RADIO,
        Mapped(
            "channel",
            "approximate",
            "mapping channel: one module is one channel, and `setup` sets the module's radio "
            "channel; destination: an address per channel; header: one byte before the payload",
        ),
        Mapped("channel -1", "approximate", "sent to `to_all` (header: channel byte 255)"),
        Mapped(
            "allowedChannels",
            "approximate",
            "the simulated device obeys it; the module has no such list",
        ),
        Mapped(
            "range, maxRange",
            "cannot",
            "`setup` can set the power; the medium filters by pose",
        ),
        ALL_AROUND,
        Mapped("baudRate", "exact", "rate of the UART; the module's answers pace the packets"),
        BYTE_SIZE,
        Mapped(
            "bufferSize",
            "exact",
            "the gateway's transmit queue; one packet is one line, up to longest_packet (default "
            "64; header: one less)",
        ),
        Mapped("signalStrength", "approximate", "from the group rssi, if the pattern has one"),
        DIRECTION_FROM_POSES,
        NOISE,
    ),
)


class TextAdapter(Adapter):
    kind: ClassVar[str] = "text"
    type: ClassVar[str] = "radio"
    summary: ClassVar[str] = "any module with text commands, declared in the configuration"
    Settings: ClassVar[SettingsClass] = TextSettings
    limits: ClassVar[Limits] = LIMITS

    def check(self, settings: TextSettings, common: StationSettings) -> list[Problem]:
        return list(check(settings, common))

    def session(self, settings: TextSettings, common: StationSettings) -> TextSession:
        return TextSession(settings, common)

    def mock(self, settings: TextSettings, common: StationSettings) -> MockSpec:
        """Return a module with this line; the setting `mock` describes its commands."""
        return MockSpec(
            "text_module",
            {
                "baudRate": common.baudRate,
                "byteSize": line_of(common)[0].byteSize,
                "line_end": settings.line_end,
                **settings.mock,
            },
        )


ADAPTER = TextAdapter()
