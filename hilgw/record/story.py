"""What hilgw and its programs did in a run, without its times: what a test can assert. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

DEPARTS, BEHIND = "departs from the recording", "expected: nothing"
MOST_NAMED = 3  # receivers of a packet, in the name of its stream


class Story:
    """packets: by their source and who received them, such as "rover.tx -> xbee0", their payloads.
    commands: by their motor: one that is repeated counts once, as how often it is repeated
    may depend on the time. departures: by the part that is a recording, with both frames.

    until: another story, which is not exceeded from now on; None: none.
    """

    def __init__(self) -> None:
        self.packets: dict[str, list[bytes]] = {}
        self.commands: dict[str, list[str]] = {}
        self.departures: dict[str, list[str]] = {}
        self.until: Story | None = None

    def add(self, event: Mapping[str, Any]) -> None:
        """An event, as the control socket and recordings have it."""
        kind = event["event"]
        if kind == "packet":
            to = event["received_by"]
            names = ", ".join(to) if len(to) <= MOST_NAMED else f"{len(to)} receivers"
            name = f"{event['source']} -> {names or 'no receiver'}"
            self._append("packets", name, bytes.fromhex(event["data"]))
        elif kind == "command":
            name = f"{event['robot']}.{event['device']}" + (event["body"] and f" ({event['body']})")
            words = ", ".join(f"{key} {value}" for key, value in event["given"].items())
            words += event["reason"] and f", refused: {event['reason']}"
            if self.commands.get(name, [])[-1:] != [words]:
                self._append("commands", name, words)
        elif kind == "notice" and event["text"].startswith(DEPARTS):  # noqa: SIM102
            if self.until is None or BEHIND not in event["text"]:
                self.departures.setdefault(event["source"], []).append(event["text"])

    def _append(self, kind: str, name: str, value: bytes | str) -> None:
        streams = getattr(self, kind)
        ends = None if self.until is None else getattr(self.until, kind)
        if ends is None or len(streams.get(name, ())) < len(ends.get(name, ())):
            streams.setdefault(name, []).append(value)

    def streams(self) -> dict[str, list[Any]]:
        """All packets and commands, by their names."""
        return {**self.packets, **self.commands}
