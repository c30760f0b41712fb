"""Digi XBee modules: 802.15.4, DigiMesh, Zigbee; API modes 1 and 2, and transparent mode."""

from typing import TYPE_CHECKING, Any, ClassVar

from hilgw.adapters.declaration import (
    ALL_AROUND,
    ALLOWED_CHANNELS,
    DIRECTION_FROM_POSES,
    NOISE,
    RADIO,
    ByHeader,
    Limits,
    Mapped,
    MockSpec,
    Probe,
    Problem,
    SettingsClass,
    StationSettings,
)
from hilgw.adapters.xbee.settings import (
    RATES,
    WINDOW,
    ModuleChannel,
    XBeeSettings,
    check,
)

if TYPE_CHECKING:
    from hilgw.adapters.base import AdapterSession

LIMITS = Limits(
    payload=100,
    window=WINDOW,
    channels="module_channel: 11 to 26, the module's own CH; destination: those of the table "
    "and `channel`; header: 0 to 254",
    rates=RATES,
    silence="that both modules have one channel (CH), one PAN ID (ID), and an address that fits",
    answers=True,
    mapping=(
        RADIO,
        Mapped(
            "channel",
            "approximate",
            "mapping module_channel: CH, one channel per module (with zigbee the network chooses "
            "CH, which is only checked; 868 and 900 MHz modules hop and have no CH); destination: "
            "an address per channel, CH unchanged; header: one byte before the payload, all "
            "channels on one CH",
        ),
        Mapped(
            "channel -1",
            "approximate",
            "sent to all modules of this CH and PAN (with header: channel byte 255 to "
            "`destination`); a module cannot receive several CH",
        ),
        ALLOWED_CHANNELS,
        Mapped("range, maxRange", "cannot", "power (PL) is unchanged; the medium filters by pose"),
        Mapped(
            "baudRate",
            "exact",
            "rate of the UART (BD), never changed; the air has 250 kbit/s at 2.4 GHz",
        ),
        Mapped("byteSize", "exact", "bits on the UART per byte: 10 is 8N1, the factory setting"),
        Mapped(
            "bufferSize",
            "exact",
            "the gateway's transmit queue; one packet is one radio frame, up to NP: 100 and more "
            "with 802.15.4, 73 with DigiMesh, 255 with Zigbee (broadcast: 92), 256 at 868 and 900 "
            "MHz; in transparent mode up to the framing's max_payload",
        ),
        ALL_AROUND,
        Mapped(
            "signalStrength",
            "approximate",
            "from the RSSI of frames 80 and 81; for frames 90 and 91, which have none, from DB: "
            "that is the last hop's and may be another packet's (shown with ~); transparent mode "
            "has none",
        ),
        DIRECTION_FROM_POSES,
        NOISE,
        Mapped(
            "delivery",
            "approximate",
            "by the transmit status; a broadcast when it was sent; an exceeded duty cycle at 868 "
            "MHz is reported as cca or duty_cycle. Transparent mode: when the last byte has left "
            "the UART; packets that overrun the module's buffer (rtscts: true prevents it), are "
            "not acknowledged by radio, or are mixed with another sender's bytes are lost without "
            "notice",
        ),
    ),
    notes=(
        "## Settings inside the module",
        "hilgw writes no setting that survives a power-off (ATWR); the module restarts with its "
        "own.",
        "| register | what hilgw does |\n| --- | --- |\n"
        "| AP | read; another mode than `api_mode` is refused with the command that sets it |\n"
        "| BD | another rate than `baudRate` is refused; `hilgw scan` finds it |\n"
        "| AO | each value is understood: frames 80 and 81, 90, or 91. `endpoints` sets 1 where it "
        "is 0, until the module restarts |\n"
        "| CH, ID, MY, DH, DL, D6, D7 | set where the file has them and they differ, until the "
        "module restarts |",
        "## Other modules of the network",
        "While a gateway runs, an AT command reaches another module by radio (remote AT command, "
        "frame 17, applied at once and not saved); without a value it reads:",
        "    hilgw set xbee0 --at 0013A2004AB67FB2 NI\n"
        "    hilgw set xbee0 --at 0013A2004AB67FB2 D4 05",
        "The address is the 64-bit or the 16-bit address in hexadecimal digits, as `hilgw scan` "
        "lists them. Values are hexadecimal digits, for NI text. A module in transparent mode "
        "(`api_mode: 0`) has no remote commands.",
    ),
)


class XBeeAdapter:
    """See `hilgw.adapters.base.Adapter`."""

    kind: ClassVar[str] = "xbee"
    type: ClassVar[str] = "radio"
    summary: ClassVar[str] = "Digi XBee radio modules: 802.15.4, DigiMesh, Zigbee, 868 and 900 MHz"
    Settings: ClassVar[SettingsClass] = XBeeSettings
    limits: ClassVar[Limits] = LIMITS
    probes: ClassVar[tuple[Probe, ...]] = (
        Probe(XBeeSettings(mapping=ByHeader()), (9600, 115200, 57600, 38400, 19200)),
        Probe(XBeeSettings(mapping=ByHeader(), api_mode=2), (9600, 115200), variant="API mode 2"),
    )

    def check(self, settings: XBeeSettings, common: StationSettings) -> list[Problem]:
        return list(check(settings, common))

    def session(self, settings: XBeeSettings, common: StationSettings) -> "AdapterSession":
        # Imported here: a check of a configuration needs no session.
        if settings.api_mode == 0:
            from hilgw.adapters.xbee.transparent import TransparentSession

            return TransparentSession(settings, common)
        from hilgw.adapters.xbee.session import XBeeSession

        return XBeeSession(settings, common)

    def mock(self, settings: XBeeSettings, common: StationSettings) -> MockSpec:
        """Return a module with this line and API mode; the handshake sets the rest.

        The setting `mock` overrides: other hardware, a Zigbee coordinator (CE: 1).
        """
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
        if settings.firmware != "802.15.4":
            parameters["hardware"] = settings.firmware
            if settings.firmware == "zigbee" and isinstance(settings.mapping, ModuleChannel):
                parameters["channel"] = common.channel
        if common.rtscts:
            parameters["rtscts"] = True
        return MockSpec("xbee", parameters | settings.mock)


ADAPTER = XBeeAdapter()
