"""The session of a Webots controller: hilgw is Webots to it.

One session is one robot. It gets the bytes behind the handshake. A request becomes events, the last
of which is StepRequest; then `answer` is called once, when the world has made that step, or at once
for an immediate request (0 ms). The first answer is the configuration.

Webots, source/webots/control and libController, R2025a; docs of the wire: hilgw.protocols.webots.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from enum import Enum, auto
from typing import Any, cast

from hilgw.control.events import (
    Connected,
    Disconnected,
    Event,
    MotorCommand,
    MotorPid,
    MotorSettings,
    Notice,
    PacketIn,
    PacketOut,
    ProtocolFailure,
    RefusedRequest,
    StepRequest,
    Stop,
    StopReason,
    Write,
)
from hilgw.controllers.webots.configuration import TagTable
from hilgw.controllers.webots.motors import DeviceCommands
from hilgw.controllers.webots.robot import Battery, RobotState
from hilgw.controllers.webots.sensors import Sensors
from hilgw.devices.kinds import Device, Devices, Value
from hilgw.errors import PeerError
from hilgw.protocols.webots.answers import encode_answer
from hilgw.protocols.webots.codec import MOST_MESSAGES, Message, describe, encode_time
from hilgw.protocols.webots.forms import ROBOT_TAG
from hilgw.protocols.webots.requests import (
    Leave,
    Request,
    RequestReader,
    encode_request,
    request_error,
    uneven_step,
    without_leave,
)
from hilgw.protocols.webots.robot_messages import (
    Battery as BatteryMessage,
    Quit,
    RobotConfiguration,
    SimulationMode,
)
from hilgw.protocols.webots.wire import ProtocolError, WebotsRefused
from hilgw.reasons import RequestRefused
from hilgw.units import earliest, ns_to_s

PAUSED, REAL_TIME = 0, 1  # modes of the simulation
_COUNTED: dict[type, str] = dict.fromkeys((MotorSettings, MotorCommand, MotorPid), "commands")
_COUNTED[PacketOut] = "packets_out"


class _State(Enum):
    CLOSED = auto()  # there is no connection
    STARTING = auto()  # no request was answered: the first answer is the configuration
    RUNNING = auto()
    QUITTING = auto()  # QUIT was sent: further commands are ignored
    LEFT = auto()  # the controller has ended, and the connection is not closed yet


_STARTING, _QUITTING = _State.STARTING, _State.QUITTING  # faster to read, in each step
_ENDED = (_State.CLOSED, _State.LEFT)


class WebotsControllerSession:
    """The pure session; see `hilgw.controllers.base.PeerSession`.

    robot: what the controller learns about the robot, without its devices and the time. local: the
    peer is on a local socket, whose answers have no chunks; image_files: the paths of its images,
    by device; both set before `open`. battery: None: the robot has none. shows_arming: the
    controller learns whether the motors may move, as the mode of the simulation: a robot that is
    not armed is paused. is_child: hilgw has its exit status.
    """

    def __init__(
        self,
        robot: RobotConfiguration,
        version: str = "R2025a",
        *,
        local: bool = False,
        battery: Battery | None = None,
        shows_arming: bool = False,
        is_child: bool = False,
    ) -> None:
        self.armed = True
        self._shows_arming = shows_arming
        self._shown_armed = True  # as the controller got it last
        self.devices = Devices()
        self.counts: Counter[str] = Counter()
        self.local = local
        self.image_files: Mapping[str, str] = {}
        self._tags, self._is_stale = TagTable(robot, version), False
        self._robot = RobotState(robot.name, robot.customData, battery or Battery())
        self._sensors = Sensors()
        self._commands = DeviceCommands(self._tags, self._sensors)
        self._reader = RequestReader()
        self._state = _State.CLOSED
        self._waiting: Request | None = None  # the request that has no answer yet
        self._step = StepRequest(0)  # the last one: most are equal
        self._is_child = is_child
        self._owed = 0  # answers sent before their request: QUIT
        self._steps_before = 0  # of earlier controllers
        self._time_ns = 0  # simulation time
        self._sent_ns: int | None = None  # the simulation time that the controller got last

    # --- the connection -----------------------------------------------------------------------

    def open(self, now: int) -> list[Event]:
        self._reader = RequestReader()
        self._state = _State.STARTING
        self._waiting = self._sent_ns = None
        self._is_uneven = False  # reported: a step is not a multiple of the basic one
        self._owed = 0
        self._steps_before = self.counts["steps"]
        self._robot.reset()
        self._is_stale = True
        return [Connected("Webots controller")]

    def close(self) -> list[Event]:
        state, self._state = self._state, _State.CLOSED
        if state in _ENDED:
            return []
        if self._robot.is_exiting or state is _State.QUITTING:
            return self._gone("the controller ended")
        # What crashes the library does so at its start; a signal finds it waiting for an answer.
        at_start = self._waiting is None and self.counts["steps"] == self._steps_before
        self.counts["ended_without_notice"] += 1
        notice = [] if self._is_child else [Notice(without_leave(at_start=at_start), once=False)]
        return [*notice, *self._gone("ended without notice")]

    def receive(self, data: bytes, now: int) -> list[Event]:
        reader = self._reader
        if self._state in _ENDED:
            return []
        events: list[Event] = []
        try:
            whole = reader.whole(data)
            if whole is not None:
                self._accept(whole, events, now)
                return events
            reader.feed(data)
            while (request := reader.next()) is not None:
                if isinstance(request, Leave):
                    self._state = _State.LEFT
                    return events + self._gone("the controller ended")
                self._accept(request, events, now)
        except ProtocolError as error:
            events += self._fail(error)
        return events

    def next_deadline(self) -> int | None:
        """Return the end of a wait for user input, or None."""
        waits = self._waiting is None and self._state not in _ENDED
        return self._robot.input_due_ns if waits else None

    @property
    def is_served(self) -> bool:
        """The controller waits for an answer, for input of the user, or for its end."""
        ends = self._state is _State.QUITTING or self._state is _State.LEFT
        return self._waiting is not None or ends or self._robot.awaits_input

    def expire(self, now: int) -> list[Event]:
        messages = self._robot.end_of_input(now) if self.next_deadline() is not None else []
        return [self._write(0, messages)] if messages else []

    def describe(self, data: bytes, *, received: bool) -> str:
        return describe(data, self._tags.codec, received=received, local=self.local)

    # --- from the control loop ----------------------------------------------------------------

    def register(self, device: Device) -> list[Event]:
        """Add a device that the control loop has; repeating a registration does nothing.

        A controller that has its configuration does not learn of a new device.
        """
        known = self.devices.by_index(device.index)
        if known == device:
            return []
        if known is not None:
            text = f"index {device.index} is '{known.name}', not '{device.name}'"
            return [self._refuse(device.index, WebotsRefused.INDEX_TAKEN, text)]
        refusal = self._tags.refusal(device, self.devices)
        if refusal is not None:
            return [self._refuse(device.index, *refusal)]
        self.devices.add(device)
        if self._state in (_State.RUNNING, _State.QUITTING):
            text = f"'{device.name}' is new: the controller learns of it when it connects again"
            return [Notice(text)]
        self._is_stale = True
        return []

    def forget(self) -> None:
        self.devices.clear()
        self._is_stale = True

    @property
    def _table(self) -> TagTable:
        """The tags of the present devices: those that came one by one get theirs together."""
        if self._is_stale:
            self._is_stale = False
            self._tags.assign(self.devices)
            self._sensors.reset(self._tags.devices)
            self._commands.reset()
        return self._tags

    def forget_values(self) -> None:
        self._sensors.forget_values()
        self._robot.battery.forget()

    def report(self, values: Iterable[tuple[int, Value]], now: int) -> list[Event]:
        """Keep values of sensors, (index, value) each, until they are due."""
        events, tags = list[Event](), self._table.tags
        for index, value in values:
            tag = tags.get(index)
            if index == self._robot.battery_index:
                self._robot.battery.measure(value)
            if tag is None:
                if index not in self.devices:
                    text = f"no device {index} in this control loop"
                    events.append(self._refuse(index, RequestRefused.UNKNOWN_DEVICE, text))
            elif not self._sensors.keep(tag, value):
                text = f"device {index} does not report {value!r:.80}"
                events.append(self._refuse(index, RequestRefused.UNSENDABLE, text))
        return events

    def feedback(self, index: int, value: float, now: int) -> list[Event]:
        """Keep the force or torque that a motor applies until it is due."""
        tag = self._table.tags.get(index)
        if tag is not None:
            self._sensors.keep_feedback(tag, value)
        return []

    def deliver(self, packet: PacketIn) -> list[Event]:
        """Keep one packet that a Receiver received until the Receiver is due."""
        tag = self._table.tags.get(packet.index)
        receiver = None if tag is None else self._sensors.receivers.by_tag.get(tag)
        if receiver is None or self._state in _ENDED:
            return [self._refuse(packet.index, RequestRefused.DOWN, "no controller is connected")]
        reason = receiver.hold(packet, len(packet.data))
        if reason is not None:
            name = cast(Device, self.devices.by_index(packet.index)).name
            text = f"Receiver '{name}' takes no packets"
            return [self._refuse(packet.index, WebotsRefused.known(reason), text)]
        self.counts["packets_in"] += 1
        return []

    def fault(self, index: int) -> list[Event]:
        """Return no events: Webots has no message for a device that failed."""
        return []

    # --- from the user ------------------------------------------------------------------------

    def press(self, keys: Sequence[int], hold_ns: int) -> list[Event]:
        self._demand_controller()
        messages = self._robot.press(keys, self._time_ns, hold_ns)
        return [self._write(0, messages)] if messages else []

    def say(self, text: str) -> list[Event]:
        self._demand_controller()
        self._robot.say(text)
        return []

    def charge(self, energy_j: float) -> list[Event]:
        has_controller = self._state is _State.RUNNING
        self._robot.battery.charge(energy_j, self._time_ns if has_controller else None)
        return []

    def show_paths(self, project: str, world: str) -> None:
        self._table.robot = replace(self._table.robot, projectPath=project, worldPath=world)

    def robot_report(self) -> dict[str, Any]:
        return self._robot.report(self._time_ns)

    def _demand_controller(self) -> None:
        if self._state is not _State.RUNNING:
            raise PeerError(
                "no controller is connected", where=self._table.robot.name, fix="start it"
            )

    # --- the answer ---------------------------------------------------------------------------

    def next_sample(self) -> int | None:
        robot, sensors = self._robot, self._sensors
        dues = [robot.keyboard.next_sample(), sensors.receivers.next_sample()]
        if not robot.is_remote:
            dues += [robot.next_battery_sample(), sensors.next_sample()]
        return earliest(*dues)

    def sample(self, time_ns: int) -> None:
        """Sample what is due at the end of a basic step, for the next answer.

        That is the answer that ends the controller's step.
        """
        robot, sensors = self._robot, self._sensors
        if robot.keyboard.is_enabled:
            robot.keyboard.sample(time_ns)
        if not robot.is_remote:  # then values come from the plug-in
            if robot.battery.is_present:
                robot.sample_battery(time_ns)
            sensors.sample(time_ns)
        if sensors.receivers.are_enabled:
            sensors.receivers.sample(time_ns)

    def answer(self, time_ns: int, delay_ms: int = 0) -> list[Event]:
        """Return the answer to the request; nothing when none waits for one.

        Args:
            time_ns: simulation time at the end of the step; an immediate request does not advance
                it.
            delay_ms: what step() returns, the time by which the controller is late.
        """
        request = self._waiting
        if request is None:
            return []
        self._waiting = None
        robot, commands, sensors = self._robot, self._commands, self._sensors
        is_first = self._state is _STARTING
        if is_first:
            robot.battery.begin(time_ns)
        has_battery = robot.battery.is_present
        if has_battery and robot.battery.is_empty(time_ns):
            return self._run_down(time_ns)
        if is_first:
            self._time_ns = self._sent_ns = time_ns
            self._state = _State.RUNNING
            return [self._write(0, self._configuration_messages(time_ns))]
        messages: list[Message] = []
        if robot.answers or commands.answers:
            messages = robot.answers + commands.answers
            robot.answers, commands.answers = [], []
        if request.duration_ms == 0:
            return [self._write(0, messages)]
        self._time_ns = time_ns
        self.counts["steps"] += 1
        data = b""
        if time_ns != self._sent_ns:
            self._sent_ns = time_ns
            data = encode_time(ns_to_s(time_ns))
        self.sample(time_ns)
        if robot.keyboard.is_enabled:
            messages += robot.keyboard.take()
        if has_battery:
            messages += robot.take_battery(time_ns)
        data += sensors.take()
        if sensors.receivers.are_enabled:
            messages += sensors.receivers.take()
        if self._shows_arming and self.armed is not self._shown_armed:
            messages.append(SimulationMode(self._mode()))
        images = sensors.cameras.take() if sensors.cameras.due else []
        if images and self.local:
            messages += sensors.cameras.files(images, self.image_files)
            images = []
        if messages:
            data += self._table.codec.encode_messages(messages)
        return [Write(encode_answer(max(0, delay_ms), data, images, local=self.local))]

    def images(self) -> dict[str, bytes]:
        return self._sensors.cameras.images() if self._table.devices else {}

    def quit(self) -> list[Event]:
        """End the controller before the connection closes: its next step() returns -1.

        Otherwise libController would spin for ever. Commands that come after it are ignored.
        """
        if self._state not in (_State.STARTING, _State.RUNNING):
            return []
        if self._waiting is None:
            self._owed += 1
        self._waiting = None
        return [self._write_quit(self._time_ns)]

    def _write_quit(self, time_ns: int, *before: Message) -> Write:
        """Write QUIT; libController cannot quit before it has a configuration."""
        is_first = self._state is _State.STARTING
        self._state = _State.QUITTING
        first = self._configuration_messages(time_ns) if is_first else []
        return self._write(0, [*first, *before, Quit()])

    def rejection(self) -> bytes:
        """Return the answer for a controller that connected while another one has the robot.

        It ends at once. The session and its controller are not affected.
        """
        messages = self._table.configuration(self._time_ns)
        return encode_answer(0, self._table.codec.encode_messages([*messages, Quit()]))

    def _run_down(self, time_ns: int) -> list[Event]:
        self._time_ns = time_ns
        self.counts["stop_battery"] += 1
        error = PeerError(StopReason.BATTERY.doc, where=self._table.robot.name)
        empty = BatteryMessage(0.0)  # the reason, for hilgw's API
        return [Stop(StopReason.BATTERY), self._write_quit(time_ns, empty), ProtocolFailure(error)]

    def _configuration_messages(self, time_ns: int) -> list[Message]:
        mode = self._mode() if self._shows_arming else self._table.robot.mode
        return self._table.configuration(time_ns, mode=mode, customData=self._robot.custom_data)

    def _mode(self) -> int:
        self._shown_armed = self.armed
        return REAL_TIME if self.armed else PAUSED

    def _write(self, delay: int, messages: list[Message]) -> Write:
        return Write(
            encode_answer(delay, self._table.codec.encode_messages(messages), local=self.local)
        )

    # --- from the controller ------------------------------------------------------------------

    def _accept(self, request: Request, events: list[Event], now: int) -> None:
        if self._state is _QUITTING:
            if self._owed:  # QUIT has been sent before
                self._owed -= 1
            else:
                events.append(self._write(0, [Quit()]))
            return
        if self._waiting is not None:
            raise request_error(
                "a second request before the answer to the first", encode_request(*request)
            )
        self._waiting = request
        self._robot.begin_request()
        first = len(events)
        if self._state is _STARTING:
            events += self._robot.watch_battery_of(self._table.devices.values())
        count = 0
        for block in request.blocks:
            commands = self._table.codec.decode_commands(block)
            count += len(commands)
            if count > MOST_MESSAGES:
                raise request_error(
                    f"more than {MOST_MESSAGES} commands in one request", block.data
                )
            if block.tag == ROBOT_TAG:
                for command in commands:
                    events += self._robot.apply(command, self._time_ns, now)
            else:
                made = self._commands.apply(block.tag, commands, self._time_ns)
                if made:
                    events += map(self._robot.keep_watch, made)
        if len(events) > first:
            self._count(events[first:])
        if request.duration_ms != self._step.duration_ms:
            self._step = StepRequest(request.duration_ms)
            text = uneven_step(request.duration_ms, self._table.robot.basicTimeStep)
            if text and not self._is_uneven:
                self._is_uneven = True
                events.append(Notice(text))
        events.append(self._step)

    def _fail(self, error: ProtocolError) -> list[Event]:
        self.counts["failures"] += 1
        last_bytes = self.quit()
        self._state = _State.LEFT
        self.counts["stop_protocol"] += 1
        return [Stop(StopReason.PROTOCOL), *last_bytes, ProtocolFailure(error, error.tail)]

    def _count(self, events: list[Event]) -> None:
        counts = self.counts
        for event in events:
            name = _COUNTED.get(type(event))
            if name is not None:
                counts[name] += 1
            elif isinstance(event, RefusedRequest):
                counts[f"refused_{event.reason}"] += 1

    def _gone(self, reason: str) -> list[Event]:
        self._waiting = None
        lost = self._sensors.receivers.discard()
        if lost:
            self.counts[f"refused_{RequestRefused.DOWN}"] += lost
        self.counts["stop_disconnected"] += 1
        return [Stop(StopReason.DISCONNECTED), Disconnected(reason)]

    def _refuse(self, index: int, reason: str, text: str) -> RefusedRequest:
        self.counts[f"refused_{reason}"] += 1
        return RefusedRequest(index, reason, text)
