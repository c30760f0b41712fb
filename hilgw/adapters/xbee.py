"""Digi XBee modules with 802.15.4 firmware, in API mode 1 or 2."""

from __future__ import annotations

from typing import Any, ClassVar

from hilgw.adapters import _xbee_settings
from hilgw.adapters._xbee_session import XBeeSession
from hilgw.adapters._xbee_settings import WINDOW, Problem, XBeeSettings
from hilgw.adapters.base import Limits, Mapped, MockSpec, StationSettings

# BD 0 to A; S1 ends at 115200.
RATES = (1200, 2400, 4800, 9600, 19200, 38400, 57600, 115200, 230400, 460800, 921600)

LIMITS = Limits(
    payload=100,
    window=WINDOW,
    channels="module_channel: 11 to 26, the module's own CH; destination: those of the table "
    "and `channel`; header: 0 to 254",
    rates=RATES,
    mapping=(
        Mapped("type", "exact", "radio"),
        Mapped(
            "channel",
            "approximate",
            "mapping module_channel: CH, one channel per module; destination: an address per "
            "channel, CH untouched; header: one byte before the payload, all channels on one CH",
        ),
        Mapped(
            "channel -1",
            "approximate",
            "sent to all modules of this CH and PAN (with header: channel byte 255 to "
            "`destination`); a module cannot listen to several CH",
        ),
        Mapped(
            "range, maxRange", "cannot", "power (PL) is left as it is; the medium filters by pose"
        ),
        Mapped("baudRate", "exact", "rate of the UART (BD), never changed; the air has 250 kbit/s"),
        Mapped(
            "byteSize", "exact", "bits on the UART per byte: 10 is 8N1, what a module starts with"
        ),
        Mapped(
            "bufferSize", "exact", "the gateway's queue; one packet is one radio frame, up to NP"
        ),
        Mapped("aperture", "cannot", "a radio is heard all around"),
        Mapped(
            "signalStrength",
            "approximate",
            "from the RSSI of frames 80 and 81; frames 90 and 91 have none",
        ),
        Mapped("direction", "cannot", "only from poses, when both are known"),
    ),
)


_SettingsClass = type[XBeeSettings]


class XBeeAdapter:
    """See `hilgw.adapters.base.Adapter`."""

    kind: ClassVar[str] = "xbee"
    type: ClassVar[str] = "radio"
    summary: ClassVar[str] = "Digi XBee radio modules, 802.15.4, API mode"
    Settings: ClassVar[_SettingsClass] = XBeeSettings
    limits: ClassVar[Limits] = LIMITS

    def check(self, settings: XBeeSettings, common: StationSettings) -> list[Problem]:
        """Problems between fields: path below the adapter, message, what to do."""
        return _xbee_settings.check(settings, common)

    def session(self, settings: XBeeSettings, common: StationSettings) -> XBeeSession:
        return XBeeSession(settings, common)

    def mock(self, settings: XBeeSettings, common: StationSettings) -> MockSpec:
        """A module that answers at these rates; what the handshake sets is left to it."""
        rate = common.baudRate
        parameters: dict[str, Any] = {
            "AP": settings.api_mode,
            "BD": RATES.index(rate) if rate in RATES else rate,
        }
        if common.parity != "none":
            parameters["NB"] = ("none", "even", "odd").index(common.parity)
        if common.stop_bits != 1:
            parameters["SB"] = common.stop_bits - 1
        if settings.module:
            parameters["SH"] = int(settings.module[:8], 16)
            parameters["SL"] = int(settings.module[8:], 16)
        return MockSpec("xbee", parameters)


ADAPTER = XBeeAdapter()
