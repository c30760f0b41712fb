"""REYAX RYLR998 and RYLR498 LoRa modules: AT commands send packets to addresses."""

from typing import Any, ClassVar

from hilgw.adapters.base import Adapter, Limits, Mapped, MockSpec, Probe, Problem, StationSettings
from hilgw.adapters.declaration import (
    ALL_AROUND,
    ALLOWED_CHANNELS,
    DIRECTION_FROM_POSES,
    NOISE,
    RADIO,
    ByHeader,
    SettingsClass,
)
from hilgw.adapters.rylr998.session import RylrSession
from hilgw.adapters.rylr998.settings import (
    LONGEST,
    RATES,
    RylrSettings,
    check,
)

LIMITS = Limits(
    payload=LONGEST,
    window=1,
    channels="network: 3 to 15 and 18, the module's own NETWORKID; destination: channels of the "
    "table and `channel`; header: 0 to 254",
    rates=RATES,
    silence="that both modules have one network, frequency and modulation, and fitting addresses",
    answers=True,
    mapping=(
        RADIO,
        Mapped(
            "channel",
            "approximate",
            "mapping network: NETWORKID, one channel per module; destination: an address per "
            "channel; header: one byte before the payload, all channels in one network",
        ),
        Mapped(
            "channel -1",
            "approximate",
            "sent to address 0, all modules of this network (with header: channel byte 255 to "
            "`destination`); a module cannot receive several networks",
        ),
        ALLOWED_CHANNELS,
        Mapped(
            "range, maxRange",
            "cannot",
            "power_dbm and modulation set the range, the same for all packets; the medium filters "
            "by pose",
        ),
        ALL_AROUND,
        Mapped(
            "baudRate",
            "exact",
            "rate of the UART (IPR), never changed; the air is slower: a packet of 240 bytes takes "
            "1.4 s with the factory's modulation, and the next one waits for the module's +OK",
        ),
        Mapped("byteSize", "exact", "bits on the UART per byte: 10, the module's line is 8N1"),
        Mapped(
            "bufferSize",
            "exact",
            "the gateway's transmit queue; one packet is one AT+SEND of up to 240 bytes (header: "
            "239; encoding hex: half)",
        ),
        Mapped("signalStrength", "approximate", "from the RSSI of +RCV; its SNR is not passed on"),
        DIRECTION_FROM_POSES,
        NOISE,
    ),
)


class RylrAdapter(Adapter):
    kind: ClassVar[str] = "rylr998"
    type: ClassVar[str] = "radio"
    summary: ClassVar[str] = "REYAX RYLR998 and RYLR498 LoRa modules, addressed packets"
    Settings: ClassVar[SettingsClass] = RylrSettings
    limits: ClassVar[Limits] = LIMITS
    probes: ClassVar[tuple[Probe, ...]] = (
        Probe(RylrSettings(mapping=ByHeader(), wake=False), (115200, 9600)),
    )

    def check(self, settings: RylrSettings, common: StationSettings) -> list[Problem]:
        return list(check(settings, common))

    def session(self, settings: RylrSettings, common: StationSettings) -> RylrSession:
        return RylrSession(settings, common)

    def mock(self, settings: RylrSettings, common: StationSettings) -> MockSpec:
        """Return a module at this rate with this id; the handshake sets the rest."""
        parameters: dict[str, Any] = {"IPR": common.baudRate}
        if settings.module:
            parameters["UID"] = settings.module
        return MockSpec("rylr998", parameters)


ADAPTER = RylrAdapter()
