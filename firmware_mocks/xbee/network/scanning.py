"""AS: the active scan for networks whose beacons this module receives. ED: the energy scan."""

from collections.abc import Iterator

from firmware_mocks.base import MS, Timers
from firmware_mocks.xbee.hardware import MAC_FAMILY
from firmware_mocks.xbee.network.packets import UNKNOWN16
from firmware_mocks.xbee.network.radio import Transceiver
from firmware_mocks.xbee.network.zigbee import Zigbee
from firmware_mocks.xbee.settings import Settings
from firmware_mocks.xbee.uart.commands import Answer, Reply, Status

UNIT_NS = 15_360_000  # of the time on one channel
SHORT_ADDRESS, LONG_ADDRESS = 2, 3
LOWEST_CHANNEL = 11
MOST_PANS = 5  # S1 and S2C answer with five descriptors at most
BEACONLESS = 0x4FFF  # superframe specification of a coordinator that sends no periodic beacons
ADMITS = 0x8000
ADMISSION_BIT = 0x04  # of A2
ZIGBEE = 2
ENERGY_MS, LONGEST_ENERGY_MS = 10, 0x3A98
CHANNELS, HOPPING_CHANNELS = 16, 64
BEST_LINK = 0xFF
LONGEST = {True: 6, False: 7}  # exponent of the time, by: 802.15.4

Field = tuple[int, int]  # value, size in bytes


def channels_of(settings: Settings) -> list[int]:
    """Return the channels of SC; 0 is the module's own channel."""
    mask = settings.number("SC")
    if not mask:
        return [settings.number("CH")]
    return [LOWEST_CHANNEL + bit for bit in range(16) if mask >> bit & 1]


class EnergyScan:
    """The largest noise on each channel, in -dBm (ED).

    S1 and S2C with 802.15.4 take the exponent of the time on each channel of SC, the others the
    time for all channels in ms.
    """

    def __init__(self, settings: Settings, timers: Timers) -> None:
        self._settings = settings
        self._timers = timers
        family, newest = settings.hardware.family, settings.hardware.scans_all
        self._by_exponent = family == MAC_FAMILY and not newest
        self._count = CHANNELS if "CH" in settings.registers else HOPPING_CHANNELS

    def search(self, value: bytes, reply: Reply, now: int) -> None:
        given = int.from_bytes(value, "big")
        if given > (LONGEST[True] if self._by_exponent else LONGEST_ENERGY_MS):
            reply(Answer(Status.BAD_PARAMETER), now)
            return
        count, duration_ns = self._count, (given if value else ENERGY_MS) * MS
        if self._by_exponent:
            count = len(channels_of(self._settings))
            duration_ns = count * (UNIT_NS << given)
        noise = min(max(round(-self._settings.noise_dbm), 0), 0xFF)
        mark = "\r" if self._by_exponent else ","
        answer = Answer(value=bytes((noise,)) * count, text=f"{noise:X}{mark}" * count)
        self._timers.start("energy scan", now + duration_ns, lambda when: reply(answer, when))


class ActiveScan:
    """The scans of one 802.15.4 or Zigbee module."""

    def __init__(self, settings: Settings, radio: Transceiver, timers: Timers) -> None:
        self._settings = settings
        self._radio = radio
        self._timers = timers
        self._is_mac = settings.hardware.family == MAC_FAMILY

    def search(self, value: bytes, reply: Reply, now: int) -> None:
        """Search the channels (AS); `value` is the exponent of the time on each, else SD."""
        exponent = int.from_bytes(value, "big") if value else self._settings.number("SD")
        if exponent > LONGEST[self._is_mac] and value:
            reply(Answer(Status.BAD_PARAMETER), now)
            return
        if not self._is_mac and self._settings.number("AI"):
            reply(Answer(Status.ERROR), now)  # it scans by itself until it has joined
            return
        channels = channels_of(self._settings)
        duration_ns = len(channels) * (UNIT_NS << exponent)

        def end(when: int) -> None:
            for fields in self._networks(channels, when):
                record = b"".join(value.to_bytes(size, "big") for value, size in fields)
                text = "".join(f"{value:X}\r" for value, _ in fields)
                reply(Answer(value=record, text=text, last=False), when)
            reply(Answer(text=""), when)

        self._timers.start("active scan", now + duration_ns, end)

    def _networks(self, channels: list[int], now: int) -> Iterator[list[Field]]:
        most = None if self._settings.hardware.scans_all else MOST_PANS
        received = [
            (other, round(rssi_dbm))
            for other, rssi_dbm in self._radio.neighbours()
            if other.settings.number("CH") in channels and self._sends_beacons(other)
        ]
        for other, rssi_dbm in received[:most]:
            yield self._descriptor(other, rssi_dbm, now)

    def _sends_beacons(self, other: Transceiver) -> bool:
        if isinstance(other.addressing, Zigbee):
            return other.addressing.joined
        return other.settings.number("CE") == 1

    def _descriptor(self, other: Transceiver, rssi_dbm: int, now: int) -> list[Field]:
        number = other.settings.number
        if isinstance(other.addressing, Zigbee):
            admits = int(other.addressing.is_open(now))
            network = [(number("OI"), 2), (number("OP"), 8), (admits, 1), (number("ZS"), 1)]
            head = [(ZIGBEE, 1), (number("CH"), 1)]
            return [*head, *network, (BEST_LINK, 1), (rssi_dbm & 0xFF, 1)]
        short = other.addressing.source16
        has_short = short != UNKNOWN16
        address = (short, 2) if has_short else (other.settings.address, 8)
        mode = SHORT_ADDRESS if has_short else LONG_ADDRESS
        frame = BEACONLESS | (ADMITS if number("A2") & ADMISSION_BIT else 0)
        security = [(0, 1), (0, 1), (0, 1)]  # security in use, ACL entry, security failure
        tail = [(frame, 2), (0, 1), (-rssi_dbm, 1), (0, 3)]  # ..., GTS permitted, ..., time stamp
        return [address, (number("ID"), 2), (mode, 1), (number("CH"), 1), *security, *tail]
