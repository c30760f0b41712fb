"""Frames that wait for their transmit status, and how many bytes of them the module may hold."""

from __future__ import annotations


class Window:
    """At most `frames` of them. room: bytes the module's UART buffer takes; None: the line has
    flow control and looks after itself. timeout_ns: how long a status may take."""

    def __init__(self, frames: int, room: int | None, timeout_ns: int) -> None:
        self._frames = frames
        self._room = room
        self._timeout_ns = timeout_ns
        self._token = 0
        # frame id -> token, deadline, bytes on the wire; the oldest comes first
        self._entries: dict[int, tuple[int, int, int]] = {}
        self._bytes = 0

    def __contains__(self, frame_id: int) -> bool:
        return frame_id in self._entries

    @property
    def deadline(self) -> int | None:
        return next(iter(self._entries.values()))[1] if self._entries else None

    def admits(self, size: int) -> bool:
        """Whether a frame of so many bytes may go out now. A single one always may."""
        entries = self._entries
        if not entries:
            return True
        return len(entries) < self._frames and (
            self._room is None or self._bytes + size <= self._room
        )

    def put(self, frame_id: int, size: int, now: int) -> int:
        """This frame goes out; its token."""
        self._token += 1
        self._entries[frame_id] = (self._token, now + self._timeout_ns, size)
        self._bytes += size
        return self._token

    def settle(self, frame_id: int) -> int | None:
        """The status of this frame came; its token, None when it was not waited for."""
        entry = self._entries.pop(frame_id, None)
        if entry is None:
            return None
        self._bytes -= entry[2]
        return entry[0]

    def expire(self, now: int) -> list[int]:
        """Tokens of those whose status did not come in time."""
        late = []
        while self._entries:
            frame_id, (token, deadline, size) = next(iter(self._entries.items()))
            if now < deadline:
                break
            del self._entries[frame_id]
            self._bytes -= size
            late.append(token)
        return late

    def clear(self) -> list[int]:
        """Tokens of all."""
        tokens = [entry[0] for entry in self._entries.values()]
        self._entries.clear()
        self._bytes = 0
        return tokens
