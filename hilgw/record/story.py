"""The actions of hilgw and its programs in a run, without times, for assertions. Pure."""

from collections.abc import Mapping
from typing import Any

DEPARTS, BEHIND = "departs from the recording", "expected: nothing"
MOST_NAMED = 3  # receivers of a packet, in the name of its stream


class Story:
    """The story of one run.

    packets: payloads by their source and receivers, such as "rover.tx -> xbee0". commands: by their
    motor: a repeated one counts once, as the number of repetitions may depend on the time.
    departures: by the part that is a recording, with both frames. recorded: the story that this one
    repeats; of a first run, itself. is_over: the recording is over, and not exceeded from now on.
    parts: the parts that it plays.
    """

    def __init__(self, recorded: "Story | None" = None) -> None:
        self.packets: dict[str, list[bytes]] = {}
        self.commands: dict[str, list[str]] = {}
        self.departures: dict[str, list[str]] = {}
        self.recorded, self.is_over, self.parts = recorded or self, False, list[str]()

    def add(self, event: Mapping[str, Any]) -> None:
        """Take an event, in the form of the control socket and of recordings."""
        kind = event["event"] if event.get("since_ns") is None else ""  # not a new event
        if kind == "packet":
            to = event["received_by"]
            names = ", ".join(to) if len(to) <= MOST_NAMED else f"{len(to)} receivers"
            name = f"{event['source']} -> {names or 'no receiver'}"
            self._append(self.packets, name, bytes.fromhex(event["data"]))
        elif kind == "command":
            name = f"{event['robot']}.{event['device']}" + (event["body"] and f" ({event['body']})")
            words = ", ".join(f"{key} {value}" for key, value in event["given"].items())
            words += event["reason"] and f", refused: {event['reason']}"
            if self.commands.get(name, [])[-1:] != [words]:
                self._append(self.commands, name, words)
        elif kind == "notice" and event["text"].startswith(DEPARTS):  # noqa: SIM102
            if not (self.is_over and BEHIND in event["text"]):
                self.departures.setdefault(event["source"], []).append(event["text"])

    def _append(self, streams: dict[str, list[Any]], name: str, value: bytes | str) -> None:
        most = len(self.recorded.streams().get(name, ())) if self.is_over else None
        if most is None or len(streams.get(name, ())) < most:
            streams.setdefault(name, []).append(value)

    def streams(self) -> dict[str, list[Any]]:
        """Return all packets and commands, by their names."""
        return {**self.packets, **self.commands}

    def is_complete(self) -> bool:
        """Return True if each stream is as long as in the recorded run."""
        played = self.streams()
        ends = self.recorded.streams().items()
        return all(len(played.get(name, ())) >= len(each) for name, each in ends)
