"""The network of an XBee: node discovery (ND), and AT commands for remote modules.

Source: Digi's user guides, "ND command", "Remote AT command request".
"""

from collections.abc import Callable
from dataclasses import replace

from hilgw.adapters.base import Event, Node, RemoteAnswer, SearchEnded
from hilgw.adapters.xbee import describe as words, frames
from hilgw.units import NS_PER_S, earliest

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
