"""HC-12 radio modules, 433 MHz: a transparent byte stream, configured by AT commands."""

from typing import Any, ClassVar

from hilgw.adapters._common.framing_settings import in_full
from hilgw.adapters.base import Adapter, Limits, Mapped, MockSpec, Problem, StationSettings, line_of
from hilgw.adapters.declaration import (
    ALL_AROUND,
    ALLOWED_CHANNELS,
    DIRECTION_FROM_POSES,
    NOISE,
    RADIO,
    SettingsClass,
)
from hilgw.adapters.hc12.session import Hc12Session
from hilgw.adapters.hc12.settings import (
    LONGEST,
    RATES,
    Hc12Settings,
    ModuleChannel,
    check,
    mode_of,
)

LIMITS = Limits(
    payload=max(LONGEST.values()),
    window=1024,  # frames are not acknowledged; the line itself is the limit
    channels="module_channel: 1 to 127, the module's own channel (above 100 not guaranteed); "
    "header: 0 to 254",
    rates=RATES,
    silence="that both modules have one channel and one mode (FU), and the same framing",
    mapping=(
        RADIO,
        Mapped(
            "channel",
            "exact",
            "mapping module_channel: AT+C, 433.4 MHz + 0.4 MHz per channel (keep neighbours 5 "
            "channels apart); header: one byte before the payload, all channels on one AT+C",
        ),
        Mapped(
            "channel -1",
            "approximate",
            "sent to all modules on this AT+C (header: channel byte 255); a module cannot "
            "receive several AT+C channels",
        ),
        ALLOWED_CHANNELS,
        Mapped(
            "range, maxRange",
            "approximate",
            "the same for all packets, by range_m or power_dbm (AT+P1 to P8, -1 to 20 dBm; 6 dB "
            "less halves the range); the medium filters by pose",
        ),
        ALL_AROUND,
        Mapped(
            "baudRate",
            "exact",
            "rate of the UART (AT+B). In FU3 it sets the air rate: 1200 and 2400 baud 5 kbit/s, "
            "4800 and 9600 15, 19200 and 38400 58, 57600 and 115200 236; both ends need the same "
            "air rate. FU2 up to 4800, FU4 only 1200",
        ),
        Mapped("byteSize", "exact", "bits on the UART per byte: 10 is 8N1, 11 8E1, 8O1 or 8N2"),
        Mapped(
            "bufferSize",
            "exact",
            "the gateway's transmit queue; one packet is one frame, up to 256 bytes (FU2 64; FU4 "
            "50, one every 2 s)",
        ),
        Mapped("signalStrength", "cannot", "the module has no RSSI: 1/distance^2 from poses"),
        DIRECTION_FROM_POSES,
        NOISE,
    ),
    notes=(
        "## Settings inside the module",
        "All of them survive a power-off: hilgw writes only those that the file has, and only with "
        "`set_line: dtr` or `rts`.",
        "| command | what hilgw does |\n| --- | --- |\n"
        "| AT+B, AT+C, AT+FU, AT+P | read; set where they differ from `baudRate`, `channel` "
        "(mapping module_channel), `mode`, and `power_dbm` or `range_m`; without `mode` the limits "
        "are those of the module's own |\n"
        "| AT+U (serial mode) | no command reads it: it has to be that of `parity` and "
        "`stop_bits`, AT+U8N1 from the factory; a module that does not answer may have another |",
    ),
)


class Hc12Adapter(Adapter):
    kind: ClassVar[str] = "hc12"
    type: ClassVar[str] = "radio"
    summary: ClassVar[str] = "HC-12 radio modules, 433 MHz, a transparent stream with a framing"
    Settings: ClassVar[SettingsClass] = Hc12Settings
    limits: ClassVar[Limits] = LIMITS

    def check(self, settings: Hc12Settings, common: StationSettings) -> list[Problem]:
        return list(check(settings, common))

    def session(self, settings: Hc12Settings, common: StationSettings) -> Hc12Session:
        return Hc12Session(settings, common)

    def mock(self, settings: Hc12Settings, common: StationSettings) -> MockSpec:
        """Return a module at this rate and in this mode, preset where hilgw cannot configure it."""
        parameters: dict[str, Any] = {
            "B": common.baudRate,
            "byteSize": line_of(common)[0].byteSize,
            "FU": mode_of(settings)[-1],
            "framing": in_full(settings.framing),
            "command_rate": settings.command_rate,
        }
        if settings.set_line in ("dtr", "rts"):
            parameters |= {"set_by": settings.set_line, "set_low": settings.set_low}
        elif isinstance(settings.mapping, ModuleChannel):
            parameters["C"] = common.channel
        return MockSpec("hc12", parameters | settings.mock)


ADAPTER = Hc12Adapter()
