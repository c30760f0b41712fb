"""The sensors of a Webots controller.

A value is due one period after the last, or after the request that enabled the sensor; enabling it
again restarts the period.

Values are kept, sampled on the sampling grid, and sent with the answer that ends the controller's
step.
"""

from collections.abc import Mapping
from typing import TypeVar

from hilgw.control.events import PacketIn
from hilgw.controllers.webots.configuration import fields_of
from hilgw.devices.fields import ReceiverFields
from hilgw.devices.kinds import MOTOR, RECEIVER, ROTATIONAL_MOTOR, SENSOR, Device, Value
from hilgw.devices.properties import CameraFields
from hilgw.protocols.webots.answers import Image
from hilgw.protocols.webots.codec import NumbersMessage, numbers_message
from hilgw.protocols.webots.device_messages import ImageFile, Receive
from hilgw.protocols.webots.queues import HeldPackets
from hilgw.units import earliest, ms_to_ns

K = TypeVar("K")


class Grid(dict[K, list[int]]):
    """The enabled sensors by key: period and last sample, in ns of simulation time."""

    def switch(self, key: K, period_ms: int, now: int) -> None:
        """Enable a sensor from now on; 0 disables it."""
        if period_ms:
            self[key] = [ms_to_ns(period_ms), now]
        else:
            self.pop(key, None)

    def sample(self, values: dict[K, bytes], samples: dict[K, bytes], now: int) -> None:
        """Copy the values of the sensors that are due; one that has no value yet stays due."""
        for key, sampling in self.items():
            if now - sampling[1] >= sampling[0]:
                value = values.get(key)
                if value is not None:
                    samples[key] = value
                    sampling[1] = now

    def due(self, now: int) -> list[K]:
        """Return the sensors that are due, in the order in which they were first enabled.

        One that is not `sampled` then stays due.
        """
        return [key for key, (period, last) in self.items() if now - last >= period]

    def next(self) -> int | None:
        """Return when a sensor is due next; that may be past. None: none is enabled."""
        return min((last + period for period, last in self.values()), default=None)

    def sample_steps(self, began: int, end: int, step: int) -> list[K]:
        """Sample each sensor at the basic steps from `began` to `end` at which it is due.

        Returns:
            The sensors that were sampled.
        """
        sampled = []
        for key, sampling in self.items():
            period, last = sampling
            first = began + step * max(1, -((began - last - period) // step))
            if first <= end:
                stride = -(-period // step) * step
                sampling[1] = first + (end - first) // stride * stride
                sampled.append(key)
        return sampled

    def sampled(self, key: K, now: int) -> None:
        """Note that the sensor was sampled."""
        self[key][1] = now


IMAGE = 0  # the command of an image, on TCP
_FEEDBACK = numbers_message(ROTATIONAL_MOTOR, 1)


class Receivers:
    """The packets for the Receivers of a robot, by tag.

    They wait for the sampling period, then for the answer that ends the controller's step.
    """

    def __init__(self) -> None:
        self.by_tag: dict[int, HeldPackets[PacketIn]] = {}
        self._grid: Grid[int] = Grid()
        self._sampled: list[int] = []  # since the last answer

    def reset(self, channels: dict[int, int]) -> None:
        """Disable all Receivers for a new controller, with the channel of each by tag."""
        self.by_tag = {tag: HeldPackets(channel) for tag, channel in channels.items()}
        self._grid.clear()
        self._sampled.clear()

    def enable(self, tag: int, period_ms: int, time_ns: int) -> None:
        """Set the period of a Receiver; 0 disables it. The packets held stay."""
        self._grid.switch(tag, period_ms, time_ns)
        self.by_tag[tag].period_ms = period_ms

    def discard(self) -> int:
        """Discard the packets held for a controller that is gone; return their number."""
        return sum(len(receiver.discard()) for receiver in self.by_tag.values())

    @property
    def are_enabled(self) -> bool:
        """True if any Receiver is enabled."""
        return bool(self._grid)

    def next_sample(self) -> int | None:
        return self._grid.next()

    def sample(self, time_ns: int) -> None:
        """Sample at the end of a basic step: packets of all Receivers that are due become ready."""
        for tag in self._grid.due(time_ns):
            self.by_tag[tag].sample()
            self._grid.sampled(tag, time_ns)
            self._sampled.append(tag)

    def take(self) -> list[Receive]:
        """Return the packets that are ready, of all Receivers."""
        sampled, self._sampled = self._sampled, []
        messages = []
        for tag in sampled:
            receiver = self.by_tag[tag]
            for packet in receiver.take():
                signal = packet.direction, packet.signal_strength
                messages.append(receiver.message(tag, *signal, packet.data))
        return messages


class Cameras:
    """The blank cameras of a robot by tag.

    A controller keeps an image until the next one, and all are alike: it gets one, with the first
    step after it enabled the camera, as the file of Webots comes; a program may read an image
    before the first period is over.
    """

    def __init__(self) -> None:
        self.due: list[int] = []  # with the answer that ends the step
        self._devices: dict[int, tuple[str, CameraFields]] = {}
        self._shown: set[int] = set()

    def reset(self, devices: dict[int, Device]) -> None:
        """Set the robot's devices by tag; a new controller has no image."""
        self.due.clear()
        self._shown.clear()
        self._devices = {
            tag: (each.name, fields)
            for tag, each in devices.items()
            if isinstance(fields := each.fields, CameraFields)
        }

    def images(self) -> dict[str, bytes]:
        return {name: fields.image for name, fields in self._devices.values()}

    def enable(self, tag: int) -> None:
        """Note that the controller wants images."""
        if tag not in self._shown:
            self._shown.add(tag)
            self.due.append(tag)

    def take(self) -> list[Image]:
        """Return the images that are due."""
        due, self.due = self.due, []
        return [Image(tag, IMAGE, self._devices[tag][1].image) for tag in due]

    def files(self, images: list[Image], paths: Mapping[str, str]) -> list[ImageFile]:
        """Return the same for a controller that finds the images in files.

        Args:
            paths: by the name of the device.
        """
        pairs = [(each, paths.get(self._devices[each.tag][0])) for each in images]
        return [ImageFile(each.tag, len(each.pixels), path) for each, path in pairs if path]


class Sensors:
    """The values of a robot's sensors by tag, the force feedback of its motors, and its Receivers.

    Of each sensor the newest value is kept.

    grid, feedback_grid: the periods of the sensors, and of the motors' feedback.
    """

    def __init__(self) -> None:
        self.receivers = Receivers()
        self.cameras = Cameras()
        self._forms: dict[int, NumbersMessage] = {}
        self._values: dict[int, bytes] = {}  # the messages
        self._feedback: dict[int, bytes] = {}
        self.grid: Grid[int] = Grid()
        self.feedback_grid: Grid[int] = Grid()
        self._sampled: dict[int, bytes] = {}  # the messages of the next answer
        self._sampled_feedback: dict[int, bytes] = {}
        self._silent: set[int] = set()  # devices that report values Webots has no message for

    def reset(self, devices: dict[int, Device]) -> None:
        """Set the robot's devices by tag, for a new controller.

        It has enabled none, and gets what the sensors report from now on.
        """
        self._forms = {
            tag: numbers_message(each.kind, len(each.reports))
            for tag, each in devices.items()
            if each.role == SENSOR
        }
        self.forget_values()
        self._silent = {tag for tag, each in devices.items() if each.role == MOTOR}
        self.grid.clear()
        self.feedback_grid.clear()
        self.cameras.reset(devices)
        self.receivers.reset(
            {
                tag: fields.channel
                for tag, each in devices.items()
                if each.kind == RECEIVER and isinstance(fields := fields_of(each), ReceiverFields)
            }
        )

    def keep(self, tag: int, value: Value) -> bool:
        """Keep the newest value of a sensor; return False when its device reports no such value.

        A motor's own value has no message, and is left out.
        """
        form = self._forms.get(tag)
        if form is None:
            return tag in self._silent
        values = value if isinstance(value, tuple) else (value,)
        if len(values) != form.numbers:
            return False
        self._values[tag] = form.pack(tag, form.command, *values)
        return True

    def keep_feedback(self, tag: int, value: float) -> None:
        """Keep the newest force or torque of a motor."""
        self._feedback[tag] = _FEEDBACK.pack(tag, _FEEDBACK.command, value)

    def forget_values(self) -> None:
        """Forget the values of a body that is gone; periods stay."""
        self._values.clear()
        self._feedback.clear()
        self._sampled.clear()
        self._sampled_feedback.clear()

    def next_sample(self) -> int | None:
        return earliest(self.grid.next(), self.feedback_grid.next())

    def sample(self, time_ns: int) -> None:
        """Sample all sensors that are due at the end of a basic step.

        One that has no value yet stays due.
        """
        self.grid.sample(self._values, self._sampled, time_ns)
        if self.feedback_grid:
            self.feedback_grid.sample(self._feedback, self._sampled_feedback, time_ns)

    def take(self) -> bytes:
        """Return the newest sample of each sensor that was sampled since the last answer."""
        data = b""
        for samples in (self._sampled, self._sampled_feedback):
            if samples:
                data += b"".join(samples.values())
                samples.clear()
        return data
