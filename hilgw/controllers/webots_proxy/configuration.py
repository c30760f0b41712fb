"""The named devices in the configuration answer of Webots: their tags, and their channels.

A message has no length, so a device of a kind that this project does not decode (a Camera) hides
where the next message begins. Behind one, the configuration of a Receiver is found by its form.
"""

from __future__ import annotations

import struct

from hilgw.protocols.webots.codec import MESSAGE_HEAD, Codec, Message
from hilgw.protocols.webots.device_messages import ReceiverConfiguration
from hilgw.protocols.webots.forms import CONFIGURE
from hilgw.protocols.webots.robot_messages import RobotConfiguration

_RECEIVER = struct.Struct(MESSAGE_HEAD.format + "iii")


def robot_of(messages: list[Message]) -> RobotConfiguration | None:
    """The robot's configuration among these messages."""
    return next((each for each in messages if isinstance(each, RobotConfiguration)), None)


def channels_of(codec: Codec, data: bytes) -> tuple[list[Message], dict[int, int]]:
    """The messages of a configuration answer up to the first of an unknown kind, and the channel of
    each Receiver by tag. One is missing when its place in the answer is not certain."""
    messages, at = codec.decode_known(data)
    channels = {
        each.tag: each.channel for each in messages if isinstance(each, ReceiverConfiguration)
    }
    for tag, kind in codec.kinds.items():
        if kind == "Receiver" and tag not in channels and at < len(data):
            found = _candidates(data, at, tag, len(codec.kinds))
            if len(found) == 1:
                (channels[tag],) = found
    return messages, channels


def _candidates(data: bytes, at: int, tag: int, tags: int) -> set[int]:
    """The channels of everything that has the form of this Receiver's configuration, and behind it
    the end, or the head of the configuration of a later device."""
    found = set()
    head = MESSAGE_HEAD.pack(tag, CONFIGURE)
    while (at := data.find(head, at)) >= 0 and len(data) - at >= _RECEIVER.size:
        _, _, size, channel, allowed = _RECEIVER.unpack_from(data, at)
        end = at + _RECEIVER.size + 4 * allowed
        possible = (size == -1 or size > 0) and channel >= -1 and allowed >= 0 and end <= len(data)
        if possible and _is_head(data, end, tag, tags):
            found.add(channel)
        at += 1
    return found


def _is_head(data: bytes, at: int, tag: int, tags: int) -> bool:
    if at == len(data):
        return True
    if len(data) - at < MESSAGE_HEAD.size:
        return False
    later, command = MESSAGE_HEAD.unpack_from(data, at)
    return bool(later == 0 or (tag < later < tags and command == CONFIGURE))
