"""The session of a proxy between a Webots controller and Webots: bytes behind the handshake.

All bytes pass unchanged but for two things. The blocks of devices that use `only` real hardware do
not reach Webots: such an Emitter sends nothing there, and such a Receiver is never enabled there.
And an answer that ends a step gets one more chunk, with the packets for Receivers that are due.

Webots, source/webots/control and libController, R2025a; docs of the wire: hilgw.protocols.webots.
"""

import struct
from collections.abc import Collection, Iterator, Mapping, Sequence

from hilgw.controllers.base import (
    DeliveredCopies,
    Enabled,
    Lost,
    Notice,
    Passed,
    ProxyEvent,
    Sent,
    Tuned,
)
from hilgw.controllers.webots.sensors import Grid
from hilgw.medium.packet import Copy
from hilgw.protocols.webots.answers import encode_answer
from hilgw.protocols.webots.codec import MESSAGE_HEAD, QUIT, Codec, Message
from hilgw.protocols.webots.device_messages import (
    EmitterSend,
    ReceiverConfiguration,
    SetChannel,
    SetSamplingPeriod,
)
from hilgw.protocols.webots.forms import CONFIGURE, ROBOT_TAG
from hilgw.protocols.webots.passage import AnswerPassage
from hilgw.protocols.webots.queues import HeldPackets
from hilgw.protocols.webots.requests import (
    BLOCK_HEAD,
    HEAD,
    LEAVE,
    Block,
    RequestReader,
    spans_of,
    uneven_step,
)
from hilgw.protocols.webots.robot_messages import RobotConfiguration
from hilgw.protocols.webots.wire import ProtocolError
from hilgw.reasons import PacketRefused
from hilgw.units import NS_PER_MS

LONGEST_STEP_MS = 1e9
_RECEIVER = struct.Struct(MESSAGE_HEAD.format + "iii")
_CONFIGURE = MESSAGE_HEAD.pack(ROBOT_TAG, CONFIGURE)


class WebotsProxySession:
    """A connection between a controller and Webots.

    emitters: names. receivers: name -> channel when Webots' own is not found. only: those of both
    whose blocks Webots does not get.

    `from_controller` and `from_webots` raise ProtocolError for bytes that are not the protocol.
    left: the controller has sent its last 4 bytes.
    """

    def __init__(
        self,
        version: str,
        emitters: Collection[str],
        receivers: Mapping[str, int],
        only: Collection[str] = (),
    ) -> None:
        self.held: dict[str, HeldPackets[Copy]] = {name: HeldPackets() for name in receivers}
        self._codec = Codec(version)
        self._emitters = emitters
        self._channels = receivers
        self._only = only
        self._names: dict[int, str] = {}  # named devices by tag
        self._by_tag: dict[int, HeldPackets[Copy]] = {}
        self._heads: tuple[bytes, ...] = ()  # of messages that configure a Receiver again
        self.left = False
        self._requests = RequestReader()
        self._answers = AnswerPassage(self._answered, self._ended)
        self._grid: Grid[int] = Grid()
        self._configured = False
        self._step_ms = 0  # of the request that has no answer yet
        self._is_uneven = False  # its step was reported as no multiple of the basic one
        self._basic_ns = NS_PER_MS
        self._time_ns = 0  # of the simulation, since the first step
        self._events: list[ProxyEvent] = []

    def from_controller(self, data: bytes) -> Passed:
        """Return the bytes for Webots, which gets whole requests.

        It acts on no others, so waiting for the end of one costs no time.
        """
        try:
            if self._requests.is_whole(data):
                return self._pass(data), self._take_events() if self._events else ()
            passed = b"".join([self._pass(each) for each in self._read(data)])
        except ProtocolError:
            self._requests = RequestReader()  # for the requests after `cut`
            raise
        return passed, self._take_events()

    def from_webots(self, data: bytes) -> Passed:
        return self._answers.feed(data), self._take_events() if self._events else ()

    def cut(self) -> bytes:
        """Return the bytes that end the controller: Webots is gone.

        Its library would wait for ever, and cannot quit before it has a configuration.
        """
        first = b""
        if not self._configured:
            robot = RobotConfiguration(name="", version=self._codec.version, basicTimeStep=32.0)
            first = self._codec.encode_messages([robot])
        return self._answers.cut(first)

    def answer_last(self, data: bytes) -> bytes:
        try:
            return b"".join([encode_answer(0) for each in self._read(data) if each != LEAVE])
        except ProtocolError:
            return b""

    def hold(self, receiver: str, copy: Copy) -> PacketRefused | None:
        return self.held[receiver].hold(copy, len(copy.packet.data))

    def close(self) -> Sequence[ProxyEvent]:
        for name, held in self.held.items():
            if held.period_ms:
                self._events.append(Enabled(name, 0))
            if lost := held.discard():
                self._events.append(Lost(name, tuple(lost)))
        return self._take_events()

    def _take_events(self) -> Sequence[ProxyEvent]:
        events, self._events = self._events, []
        return events

    # --- requests -----------------------------------------------------------------------------

    def _read(self, data: bytes) -> Iterator[bytes]:
        reader = self._requests
        reader.feed(data)
        while (request := reader.next_bytes()) is not None:
            self.left = self.left or request == LEAVE
            yield request

    def _pass(self, request: bytes) -> bytes:
        if request == LEAVE:
            return request
        spans = spans_of(request)
        self._step_ms = HEAD.unpack_from(request)[1]
        names = self._names
        parts, start = [], HEAD.size  # what stays, up to the last block that is left out
        for tag, begin, end in spans:
            if tag in names and not self._block(Block(tag, request[begin:end])):
                parts.append(request[start : begin - BLOCK_HEAD.size])
                start = end
        if not parts:
            return request
        kept = b"".join((*parts, request[start:]))
        return HEAD.pack(HEAD.size + len(kept), self._step_ms) + kept

    def _block(self, block: Block) -> bool:
        """Apply the commands for a named device; return whether Webots gets them."""
        tag = block.tag
        name = self._names[tag]
        for command in self._codec.decode_commands(block):
            match command:
                case EmitterSend():
                    self._events.append(Sent(name, command.channel, command.range, command.data))
                case SetSamplingPeriod():
                    self._enable(tag, name, command.period)
                case SetChannel() if tag in self._by_tag:
                    self._tune(tag, command.channel)
            # libController sends no others: they are the simulator's matter
        return name not in self._only

    def _enable(self, tag: int, name: str, period_ms: int) -> None:
        self._by_tag[tag].period_ms = period_ms
        self._grid.switch(tag, period_ms, self._time_ns)
        self._events.append(Enabled(name, period_ms))

    def _tune(self, tag: int, channel: int) -> None:
        self._by_tag[tag].channel = channel
        self._events.append(Tuned(self._names[tag], channel))

    # --- answers ------------------------------------------------------------------------------

    def _answered(self, delay_ms: int, messages: bytes, has_room: bool) -> bytes:
        """Return the start of an answer, with packets if it ends a step.

        A delay below 0 announces another answer, and an answer to an immediate request does not
        advance time.
        """
        if delay_ms < 0 or not self._step_ms:
            return b""
        began_ns, step_ns = self._time_ns + delay_ms * NS_PER_MS, self._step_ms * NS_PER_MS
        more_ns = -step_ns % self._basic_ns  # Webots makes whole basic steps
        if more_ns and not self._is_uneven:
            self._is_uneven = True
            self._events.append(Notice(uneven_step(self._step_ms, self._basic_ns / NS_PER_MS)))
        self._step_ms, self._time_ns = 0, began_ns + step_ns + more_ns
        return self._sample(began_ns) if has_room and messages != QUIT else b""

    def _sample(self, began_ns: int) -> bytes:
        """Return the packets of all Receivers that Webots has sampled in this step.

        When they came within it is not known.
        """
        received: list[Message] = []
        for tag in self._grid.sample_steps(began_ns, self._time_ns, self._basic_ns):
            held = self._by_tag[tag]
            if held:
                held.sample()
                copies = held.take()
                for copy in copies:
                    signal = copy.direction, copy.signal_strength
                    received.append(held.message(tag, *signal, copy.packet.data))
                self._events.append(DeliveredCopies(self._names[tag], tuple(copies)))
        return self._codec.encode_messages(received) if received else b""

    def _ended(self, messages: bytes) -> None:
        if not self._configured:
            if messages.startswith(_CONFIGURE):
                self._configure(messages)
            return
        for head in self._heads:  # in most answers there is none, and nothing is decoded
            if head in messages:
                self._follow(messages)
                return

    def _follow(self, messages: bytes) -> None:
        """Update a Receiver that may have been configured again."""
        for message in self._codec.decode_known(messages)[0]:
            if isinstance(message, ReceiverConfiguration) and message.tag in self._by_tag:
                self._tune(message.tag, message.channel)

    # --- the configuration --------------------------------------------------------------------

    def _configure(self, data: bytes) -> None:
        self._configured = True
        messages, channels = _channels_of(self._codec, data)
        robot = next((each for each in messages if isinstance(each, RobotConfiguration)), None)
        if robot is None:
            text = "cannot read the robot's configuration: its packets use no real hardware; "
            self._events.append(Notice(text + "set webots: to the version of the simulator"))
            return
        if 0 < robot.basicTimeStep < LONGEST_STEP_MS:
            self._basic_ns = max(1, round(robot.basicTimeStep * NS_PER_MS))
        for name in self._emitters:
            self._find(robot, name, "Emitter")
        for name, held in self.held.items():
            tag = self._find(robot, name, "Receiver")
            if tag is None:
                continue
            self._by_tag[tag] = held
            self._tune(tag, channels.get(tag, self._channels[name]))
            if tag not in channels:
                text = f"'{name}': its channel in the world is not certain behind devices of "
                text += f"unknown kinds; {self._channels[name]} is taken, as configured"
                self._events.append(Notice(text))
        self._heads = tuple(MESSAGE_HEAD.pack(tag, CONFIGURE) for tag in self._by_tag)

    def _find(self, robot: RobotConfiguration, name: str, kind: str) -> int | None:
        """Return the tag of a named device; of two with one name, the first, as libController."""
        for tag, entry in enumerate(robot.devices, 1):
            if entry.name == name:
                if self._codec.kinds[tag] == kind:
                    self._names[tag] = name
                    return tag
                text = f"'{name}' is a {self._codec.kinds[tag]} in Webots, not {kind}"
                self._events.append(Notice(f"{text}: it uses no real hardware"))
                return None
        names = ", ".join(entry.name for entry in robot.devices[:20]) or "none"
        text = f"the robot in Webots has no device '{name}' (its devices: {names})"
        self._events.append(Notice(f"{text}: it uses no real hardware"))
        return None


def _channels_of(codec: Codec, data: bytes) -> tuple[list[Message], dict[int, int]]:
    """Return a configuration answer's messages up to the first of an unknown kind, and channels.

    The channels are those of each Receiver by tag. One is missing when its place in the answer is
    not certain.

    A message has no length, so a device of a kind that this project does not decode (a Lidar)
    hides where the next message begins. Behind one, the configuration of a Receiver is found by
    its form.
    """
    messages, end = codec.decode_known(data)
    channels = {
        each.tag: each.channel for each in messages if isinstance(each, ReceiverConfiguration)
    }
    for tag, kind in codec.kinds.items():
        if kind == "Receiver" and tag not in channels and end < len(data):
            candidates = _candidates(data, end, tag, len(codec.kinds))
            if len(candidates) == 1:
                (channels[tag],) = candidates
    return messages, channels


def _candidates(data: bytes, start: int, tag: int, tags: int) -> set[int]:
    """Return the channels of everything that has the form of this Receiver's configuration.

    Behind it comes the end, or the head of the configuration of a later device.
    """
    channels = set()
    head = MESSAGE_HEAD.pack(tag, CONFIGURE)
    while (start := data.find(head, start)) >= 0 and len(data) - start >= _RECEIVER.size:
        _, _, size, channel, allowed = _RECEIVER.unpack_from(data, start)
        end = start + _RECEIVER.size + 4 * allowed
        possible = (size == -1 or size > 0) and channel >= -1 and allowed >= 0 and end <= len(data)
        if possible and _is_head(data, end, tag, tags):
            channels.add(channel)
        start += 1
    return channels


def _is_head(data: bytes, start: int, tag: int, tags: int) -> bool:
    if start == len(data):
        return True
    if len(data) - start < MESSAGE_HEAD.size:
        return False
    later, command = MESSAGE_HEAD.unpack_from(data, start)
    return bool(later == 0 or (tag < later < tags and command == CONFIGURE))
