"""Radios of a body that are forwarded to the medium, and the other way."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from hilgw.devices.fields import BROADCAST, CHANNEL_MAX
from hilgw.settings import Problem


@dataclass(frozen=True, slots=True)
class Forwarding:
    """to_medium: Receiver of the body -> Emitter of the configuration.

    from_medium: Emitter of the body -> Receiver of the configuration. channels: of the body -> of
    the medium; a channel that is not listed is the same on both sides.
    """

    to_medium: Mapping[str, str] = field(default_factory=dict)
    from_medium: Mapping[str, str] = field(default_factory=dict)
    channels: Mapping[int, int] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.to_medium or self.from_medium)

    def errors(self) -> list[Problem]:
        """Return settings that contradict each other: (path, message, fix)."""
        seen: dict[int, int] = {}
        errors = []
        for world, medium in self.channels.items():
            if not BROADCAST <= world <= CHANNEL_MAX:
                text = f"channel {world} of the world is out of range"
                errors.append(("channels", text, f"allowed: -1 to {CHANNEL_MAX}"))
            if medium in seen:
                text = f"channel {medium} belongs to channel {seen[medium]} of the world already"
                errors.append((f"channels.{world}", text, "map each channel to another one"))
            seen.setdefault(medium, world)
        return errors

    def describe(self) -> Iterator[str]:
        """Return one text for each pair of radios."""
        for world, medium in self.to_medium.items():
            yield f"what the Receiver {world} of the world receives leaves through {medium}"
        for world, medium in self.from_medium.items():
            yield f"what {medium} receives leaves through the Emitter {world} of the world"

    def on_medium(self, channel: int) -> int:
        """Return the channel on the medium of a packet from the body."""
        return self.channels.get(channel, channel)

    def in_world(self, channel: int) -> int:
        """Return the channel for the body of a packet from the medium."""
        for world, medium in self.channels.items():
            if medium == channel:
                return world
        return channel
