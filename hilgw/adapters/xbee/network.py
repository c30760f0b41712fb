"""The network of an XBee: node discovery (ND), and AT commands for remote modules.

Sources: Digi's user guides, "ND command", "Remote AT command request"; Digi's XBee host libraries
for hardware (HV, high byte) and firmware (VR, first digit).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

from hilgw.adapters.base import Event, Node, RemoteAnswer, SearchEnded
from hilgw.adapters.xbee import describe as words, frames
from hilgw.units import NS_PER_S, earliest

RAW_802, DIGIMESH, MULTIPOINT, ZIGBEE = "802.15.4", "DigiMesh", "point-to-multipoint", "Zigbee"
# The setting `firmware` -> its name, and the protocols it allows.
FIRMWARES = {
    "802.15.4": (RAW_802, (RAW_802,)),
    "digimesh": (DIGIMESH, (DIGIMESH, MULTIPOINT)),
    "zigbee": (ZIGBEE, (ZIGBEE,)),
}


@dataclass(frozen=True, slots=True)
class XBeeModule:
    """A module after the handshake.

    my: FFFE where there is none; channel: -1 where there is no CH; payload, broadcast: bytes to one
    module and to all; explicit: frames 11 and 91 are used.
    """

    hardware: str
    serial: str
    my: int
    channel: int
    pan_id: int
    payload: int
    protocol: str = RAW_802
    broadcast: int = 0
    explicit: bool = False

    @property
    def identity(self) -> str:
        parts = [self.hardware, self.protocol, self.serial]
        if self.protocol in (RAW_802, ZIGBEE):
            parts.append(f"MY {self.my:04X}")
        if self.channel >= 0:
            parts.append(f"CH {self.channel:02X}")
        width = 16 if self.protocol == ZIGBEE else 4
        return " ".join([*parts, f"PAN {self.pan_id:0{width}X}", f"NP {self.payload}"])


_SERIES = {
    0x17: "XBee S1", 0x18: "XBee S1 PRO", 0x19: "XBee S2", 0x1A: "XBee S2 PRO",
    0x1E: "XBee S2B PRO", 0x21: "XBee S2C PRO", 0x22: "XBee S2C", 0x23: "XBee-PRO 900HP",
    0x24: "XBee 868", 0x2D: "XBee S2C PRO", 0x2E: "XBee S2C", 0x30: "XBee S2C PRO",
    0x31: "XBee SX PRO", 0x3E: "XBee SX", 0x41: "XBee 3", 0x42: "XBee 3", 0x45: "XB8X",
    0x50: "XBee XR 900", 0x51: "XBee XR 868", 0x52: "XBee RR", 0x57: "XBee RR",
}  # fmt: skip
# First hex digit of VR -> protocol; None: all other digits.
_S1: dict[int | None, str] = {8: "DigiMesh", None: "802.15.4"}
_S2C: dict[int | None, str] = {
    2: "802.15.4", 9: "DigiMesh", 5: "Smart Energy", 6: "Smart Energy", None: "Zigbee",
}  # fmt: skip
_XBEE_3: dict[int | None, str] = {2: "802.15.4", 3: "DigiMesh", None: "Zigbee"}
_SUB_GHZ: dict[int | None, str] = {8: "DigiMesh", 1: "point-to-multipoint", None: ""}
_SX: dict[int | None, str] = {None: "DigiMesh"}  # or point-to-multipoint, by BR: the same frames
_PROTOCOLS: dict[int, dict[int | None, str]] = {
    0x17: _S1, 0x18: _S1, 0x21: _S2C, 0x22: _S2C, 0x2D: _S2C, 0x2E: _S2C, 0x30: _S2C,
    0x41: _XBEE_3, 0x42: _XBEE_3, 0x19: {None: "Zigbee"}, 0x1A: {None: "Zigbee"},
    0x1E: {None: "Zigbee"}, 0x23: _SUB_GHZ, 0x24: _SUB_GHZ, 0x31: _SX, 0x3E: _SX,
    0x45: _SX, 0x50: _SX, 0x51: _SX,
}  # fmt: skip


def hardware_of(hv: int, vr: int) -> tuple[str, str]:
    """Return series and protocol by hardware and firmware version; "" for an unknown protocol."""
    series = _SERIES.get(hv >> 8, f"hardware {hv:04X}")
    protocols = _PROTOCOLS.get(hv >> 8, {None: ""})
    return series, protocols.get(int(f"{vr:04X}"[0], 16), protocols[None])


def runs(hv: int, protocol: str) -> bool:
    """Return whether firmware of this protocol is known for this hardware."""
    return protocol in _PROTOCOLS.get(hv >> 8, {}).values()


SEARCH_NS = 30 * NS_PER_S  # NT is 25.5 s at most
REMOTE_NS = 10 * NS_PER_S
APPLY = 0x02
ROLES = {0: "coordinator", 1: "router", 2: "end device"}
AT_ONCE = 8  # remote commands outstanding

Put = Callable[[Callable[[int], bytes]], tuple[int, Event]]  # frame data by its id -> id, Write


class Network:
    """Node discovery, one at a time, and a few remote commands."""

    def __init__(self, raw: bool) -> None:
        self._raw = raw  # 802.15.4: its records are shorter
        self._search: tuple[int, int] | None = None  # frame id, deadline
        self._remote: dict[int, tuple[int, RemoteAnswer]] = {}  # id -> deadline, its answer if none

    def __contains__(self, frame_id: int) -> bool:
        return frame_id in self._remote or (self._search or (0,))[0] == frame_id

    @property
    def deadline(self) -> int | None:
        searching = None if self._search is None else self._search[1]
        if not self._remote:  # read after every event
            return searching
        return earliest(searching, *(due for due, _ in self._remote.values()))

    def discover(self, now: int, put: Put) -> list[Event]:
        if self._search is not None:
            return []
        frame_id, write = put(lambda number: frames.AtCommand(number, "ND").pack())
        self._search = frame_id, now + SEARCH_NS
        return [write]

    def command(
        self, address: str, name: str, value: bytes, token: int, now: int, put: Put
    ) -> list[Event]:
        answer = RemoteAnswer(address, name, problem="no answer", token=token)
        if len(self._remote) >= AT_ONCE:
            return [replace(answer, problem="too many commands at once")]
        long, network = address, frames.UNKNOWN_16
        if len(address) == 4:
            long, network = frames.UNKNOWN_64, address

        def data(number: int) -> bytes:
            return frames.RemoteAtCommand(number, long, network, APPLY, name, value).pack()

        frame_id, write = put(data)
        self._remote[frame_id] = now + REMOTE_NS, answer
        return [write]

    # --- answers ------------------------------------------------------------------------------

    def take(self, frame: frames.AtResponse | frames.RemoteAtResponse) -> list[Event]:
        if isinstance(frame, frames.RemoteAtResponse):
            return self._take_remote(frame)
        if self._search is None or frame.name != "ND" or frame.frame_id != self._search[0]:
            return []
        if frame.ok and frame.value:
            node = parse_node(frame.value, self._raw)
            return [] if node is None else [node]
        self._search = None
        return [SearchEnded("" if frame.ok else words.at_status_text(frame.status))]

    def _take_remote(self, frame: frames.RemoteAtResponse) -> list[Event]:
        entry = self._remote.get(frame.frame_id)
        if entry is None or entry[1].command != frame.name:
            return []
        del self._remote[frame.frame_id]
        address = frame.source if frame.source != frames.UNKNOWN_64 else frame.network
        problem = "" if frame.status & 0x0F == 0 else words.at_status_text(frame.status)
        return [RemoteAnswer(address, frame.name, frame.value, problem, entry[1].token)]

    def expire(self, now: int) -> list[Event]:
        events: list[Event] = []
        if self._search is not None and now >= self._search[1]:
            self._search = None
            events.append(SearchEnded("the module did not report the end of its search"))
        for frame_id, (deadline, answer) in list(self._remote.items()):
            if now >= deadline:
                del self._remote[frame_id]
                events.append(answer)
        return events

    def give_up(self, reason: str) -> list[Event]:
        """End all requests with this reason: the session was interrupted."""
        events: list[Event] = [replace(each, problem=reason) for _, each in self._remote.values()]
        self._remote.clear()
        if self._search is not None:
            self._search = None
            events.append(SearchEnded(reason))
        return events


def parse_node(record: bytes, raw: bool) -> Node | None:
    """Return the node in one record of ND's answer; None when it is too short.

    `raw` is the layout of 802.15.4.
    """
    name_at = 11 if raw else 10
    end = record.find(0, name_at)
    if end < 0:
        return None
    network = record[:2].hex().upper()
    rssi_dbm = -record[10] if raw else None
    role = ""
    if not raw:
        tail = record[end + 1 :]  # parent, role, status, profile, manufacturer, [DD], [RSSI]
        role = ROLES.get(tail[2], "") if len(tail) > 2 else ""
        if len(tail) in (9, 13):
            rssi_dbm = -tail[-1]
    return Node(
        record[2:10].hex().upper(),
        "" if network == frames.UNKNOWN_16 else network,
        record[name_at:end].decode("utf-8", "replace"),
        role,
        rssi_dbm,
    )
