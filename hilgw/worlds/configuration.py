"""Configurations made from world files, as commented YAML."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from hilgw.devices.fields import UNLIMITED
from hilgw.devices.kinds import CAMERA
from hilgw.devices.nodes import upright_axis
from hilgw.devices.properties import (
    FIELDS,
    MOST_PIXELS,
    NO_IMAGES,
    NOT_CARRIED,
    CameraFields,
    blank_camera,
)
from hilgw.errors import ConfigError, printable, quoted
from hilgw.worlds.fields import BODIES, FROM_WORLD, devices_of, settings_of
from hilgw.worlds.frames import NO_ROTATION, Rotation, Vector
from hilgw.worlds.nodes import Text, World, WorldNode
from hilgw.worlds.survey import (
    NO_SCALE,
    Bounds,
    SceneDevice,
    SceneRobot,
    Shape,
    Work,
    shapes_of,
    survey,
)
from hilgw.worlds.yaml_text import LONGEST_COMMENT, Names, comment, item, number, text

OLDEST = "R2019a"
"""The oldest version whose rules are known. Earlier ones have the same cones and cylinders."""

LISTEN = "tcp://127.0.0.1:1234"
"""Webots' own port."""

_VERSION = re.compile(r"(R20[0-9]{2}[abc])(?:[ -]?rev(?:ision)? ?[0-9]+)?")
_DEFAULT_STEP_MS = 32
_LONGEST_STEP_MS = 60_000
_LARGEST_M = 1e9
_LARGEST_J = 1e12
_LARGEST_W = 1e9
_NO_CONTROLLER = {"", "void", "<none>", "<generic>"}
_PLAIN_FIELDS = {"translation", "rotation", "scale", "name", "controller", "controllerArgs"}
_NAMED_IN_LINE = 6
UNKNOWN_DEVICES = "its devices are unknown: write those that its programs use under `devices:`"
_ORIGIN = (0.0, 0.0, 0.0)
# A configuration has the axes of today's Webots. Before R2022a y was the axis of cylinders, and z
# that of cones: such a shape or device is turned, and stands in the world as it did.
_UPRIGHT = 2
_UPRIGHT_OF_OLD: Rotation = (1.0, 0.0, 0.0, -math.pi / 2)
_CONE_OF_OLD: Rotation = (0.0, 1.0, 0.0, -math.pi / 2)


@dataclass(frozen=True, slots=True)
class ConfigurationLimits:
    """Limits of a configuration: its bytes, and its values; a line has one value, or a list."""

    max_bytes: int
    max_values: int


def configuration(
    world: World, file: str, limits: ConfigurationLimits | None = None, *, controllers: bool = False
) -> str:
    """Return YAML text with comments that name what a configuration cannot express.

    With `controllers`, also controllers that Webots starts become controllers that connect to
    hilgw.

    Raises:
        ConfigError: the world has too many nodes, or more than fits.
    """
    writer = _Writer(world, printable(file), limits, controllers=controllers)
    return "\n".join(writer.bounded(writer.lines())) + "\n"


class _Writer:
    def __init__(
        self, world: World, file: str, limits: ConfigurationLimits | None, *, controllers: bool
    ) -> None:
        self._controllers = controllers
        self._file = file
        self._limits = limits
        self._world = world
        self._scene = survey(world, file)
        self._version, self._version_note = _version(world.version)
        self._upright = upright_axis(self._version)
        self._info = next((node for node in world.nodes if node.kind == "WorldInfo"), None)
        self._from_info = self._read_info()
        self._objects = Names(".:")
        self._robot_names: dict[int, str] = {}

    def _read_info(self) -> dict[str, str]:
        world = {"coordinateSystem": "ENU" if self._upright == 2 else "NUE"}
        for name in FROM_WORLD:
            given = self._info.text(name) if self._info is not None else None
            if given is not None:
                world[name] = given
        return world

    def bounded(self, lines: Iterable[str]) -> Iterator[str]:
        """Yield the lines as far as they fit: the rest is not made."""
        limits, size, values = self._limits, 0, 0
        for line in lines:
            size += len(line.encode()) + 1
            values += 1 + line.count(",")
            if limits is not None and (size > limits.max_bytes or values > limits.max_values):
                raise ConfigError(
                    f"the world is larger than a configuration may be: {limits.max_bytes} bytes "
                    f"with {limits.max_values} values",
                    where=self._file,
                    fix="delete solids and robots that the radios do not need",
                )
            yield line

    def lines(self) -> Iterator[str]:
        yield comment(f"{self._file}, a world of Webots {self._world.version}")
        yield comment(
            "Poses and fields are those of the file. It does not have the nodes in a PROTO."
        )
        yield "version: 1"
        if self._version_note:
            yield comment(self._version_note)
        yield from self._medium()
        for kind, nodes in self._scene.hidden.items():
            yield from _hidden(0, kind, nodes, self._world)
        for note in self._scene.notes:
            yield comment(note)
        if self._scene.robots:
            yield "robots:"
        for robot in self._scene.robots:
            yield from self._robot(robot)
        yield from self._obstacles()

    def _medium(self) -> Iterator[str]:
        given = self._info.number("basicTimeStep") if self._info is not None else None
        step = float(_DEFAULT_STEP_MS) if given is None else given
        whole = _DEFAULT_STEP_MS
        if math.isfinite(step):
            whole = min(max(round(step), 1), _LONGEST_STEP_MS)
        if whole != step:
            yield comment(f"basicTimeStep {step:g}: hilgw has whole steps of 1 ms to 60 s")
        yield f"medium: {{step_ms: {whole}}}"

    def _robot(self, robot: SceneRobot) -> Iterator[str]:
        name = self._objects.take(robot.name)
        self._robot_names[id(robot)] = name
        yield from _mapping(2, name, list(self.bounded(self._of_robot(robot, name))))

    def _of_robot(self, robot: SceneRobot, name: str) -> Iterator[str]:
        node = robot.node
        if robot.is_proto:
            yield from _hidden(4, node.kind, [node], self._world)
            given = _given(node)
            if given:
                yield _note(4, f"fields given to the PROTO: {given}")
            yield _note(4, f"body: {BODIES[node.kind]}" if node.kind in BODIES else UNKNOWN_DEVICES)
            if node.text("name") is None:
                problem = (
                    f"it hides the robot's name too: {quoted(robot.name)} is that of the PROTO"
                )
                yield _note(4, problem)
        else:
            yield _note(4, f"line {node.line}")
        if name != robot.name:
            yield _note(4, f"its name is {quoted(robot.name)}")
        for inner in robot.hidden:
            yield from _hidden(4, inner.kind, [inner], self._world)
        for note in robot.notes:
            yield _note(4, note)
        yield from _pose(4, *robot.frame.pose(), names=("position", "rotation"), always=True)
        yield from self._controller(robot)
        known = [
            device
            for device in robot.devices
            if device.node.kind in FIELDS and device.node.kind != "Camera"
        ]
        for device in robot.devices:
            if device not in known:
                problem = _not_carried(device)
                yield _note(4, f"line {device.node.line}: {quoted(device.name)}: {problem}")
        hidden = {
            name: settings
            for instance in (*[node] * robot.is_proto, *robot.hidden)
            for name, settings in devices_of(instance).items()
        }
        if known or hidden:
            yield "    devices:"
        for hidden_name in [each for each in hidden if each not in [one.name for one in known]]:
            yield f"      {text(hidden_name)}: {item(hidden[hidden_name])}"
        names = Names(":", couples=True)
        shared = _shared_axes(known)
        for device in known:
            yield from self._device(device, robot, names, shared)

    def _controller(self, robot: SceneRobot) -> Iterator[str]:
        node = robot.node
        if node.flag("supervisor") or node.kind == "Supervisor":
            yield _note(4, f"supervisor: {NOT_CARRIED['Supervisor']}")
        controller = node.text("controller")
        hidden = controller is None and robot.is_proto
        started = hidden or (controller is not None and controller not in _NO_CONTROLLER)
        if controller == "<extern>" or (started and self._controllers):
            yield f"    controller: {item(_settings_of(node))}"
        elif controller is not None and started:
            problem = f"controller {quoted(controller)} is started by Webots"
            yield _note(4, f"{problem}; import-world --controllers lets it connect to hilgw")

    def _device(
        self, device: SceneDevice, robot: SceneRobot, names: Names, shared: set[int]
    ) -> Iterator[str]:
        settings, notes = settings_of(device, self._from_info)
        kind = device.node.kind
        name = names.take(device.name)
        yield f"      {text(name)}:"
        if name != device.name:
            yield _note(8, f"line {device.node.line}: its name is {quoted(device.name)}")
        for note in notes:
            yield _note(8, f"line {device.node.line}: {note}")
        yield f"        node: {kind}"
        for key, value in settings.items():
            yield f"        {key}: {item(value)}"
        if kind in ("Emitter", "Receiver"):
            frame = device.frame
            if self._upright != _UPRIGHT and settings.get("aperture", UNLIMITED) != UNLIMITED:
                frame = frame.child(_ORIGIN, _CONE_OF_OLD, NO_SCALE)
            seen = frame.seen_from(robot.frame)
            yield from _pose(8, *seen, names=("translation", "rotation"))
        if (axis := device.axis) is not None:
            if kind.endswith("Motor") and 0.0 < abs(axis.position) <= _LARGEST_M:
                yield f"        position: {number(axis.position)}"
            if axis.number in shared:
                yield f"        joint: joint{axis.number}"

    def _obstacles(self) -> Iterator[str]:
        obstacles, notes = list[tuple[Bounds, bool, Shape]](), list[str]()
        work = Work(self._file)
        for bounds in self._scene.bounds:
            shapes, problems = shapes_of(bounds, self._upright, work)
            moves = bool(bounds.solid.nodes("physics"))
            obstacles.extend((bounds, moves, shape) for shape in shapes)
            notes.extend(problems)
        for note in notes:
            yield comment(note)
        lines = list(self.bounded(line for each in obstacles for line in self._obstacle(*each)))
        if lines:
            yield from _mapping(0, "obstacles", lines)

    def _obstacle(self, bounds: Bounds, moves: bool, shape: Shape) -> Iterator[str]:
        robot, frame = bounds.robot, shape.frame
        if self._upright != _UPRIGHT and shape.kind in ("cylinder", "capsule"):
            frame = frame.child(_ORIGIN, _UPRIGHT_OF_OLD, NO_SCALE)
        owner = self._robot_names.get(id(robot)) if robot is not None else None
        solid = bounds.solid.text("name") or bounds.solid.label or bounds.solid.kind
        if owner is not None and robot is not None:
            is_itself = bounds.solid is robot.node
            wanted = f"{owner} body" if is_itself else f"{owner} {solid}"
            pose = frame.seen_from(robot.frame)
        else:
            wanted, pose = solid, frame.pose()
        if not _is_near(pose[0]):
            yield comment(f"line {bounds.solid.line}: {quoted(solid)} is too far away")
            return
        yield f"  {text(self._objects.take(wanted))}:"
        if owner is None and moves:
            yield _note(4, "it can move in Webots; here its pose is fixed")
        yield f"    shape: {shape.kind}"
        for key, value in shape.dimensions.items():
            yield f"    {key}: {item(value)}"
        yield from _pose(4, *pose, names=("position", "rotation"))
        if owner is not None:
            yield f"    attached_to: {text(owner)}"


def _settings_of(node: WorldNode) -> dict[str, object]:
    settings: dict[str, object] = {"kind": "webots", "listen": LISTEN}
    if node.flag("synchronization") is False:
        settings["synchronization"] = False
    for name in ("model", "customData"):
        if given := (node.text(name) or "").replace("\0", ""):
            settings[name] = given
    battery = node.numbers("battery")
    if battery and len(battery) == 3 and 0.0 <= battery[0] <= battery[1] <= _LARGEST_J:
        settings["battery"] = [*battery[:2], min(max(0.0, battery[2]), _LARGEST_W)]
        consumption_w = node.number("cpuConsumption") or 0.0
        if 0.0 < consumption_w <= _LARGEST_W:
            settings["cpuConsumption"] = consumption_w
    return settings


def _not_carried(device: SceneDevice) -> str:
    kind = device.node.kind
    if kind != CAMERA:
        return NOT_CARRIED.get(kind, f"a {kind} is not carried")
    sizes = [device.node.number(name) or 0 for name in ("width", "height")]
    pixels = [int(each) if 1 <= each <= MOST_PIXELS else 64 for each in sizes]
    size = CameraFields(width=pixels[0], height=pixels[1])
    return f"{NO_IMAGES}; {blank_camera(text(device.name), size)}"


def _mapping(indent: int, key: str, lines: list[str]) -> Iterator[str]:
    is_empty = all(line.lstrip().startswith("#") for line in lines)
    yield f"{' ' * indent}{text(key)}:" + (" {}" if is_empty else "")
    yield from lines


def _hidden(indent: int, kind: str, nodes: list[WorldNode], world: World) -> Iterator[str]:
    url = f" ({world.protos[kind]})" if kind in world.protos else ""
    yield _note(indent, f"PROTO {kind} hides its nodes{url}")
    for first in range(0, len(nodes), _NAMED_IN_LINE):
        named = ((node.line, node.text("name")) for node in nodes[first : first + _NAMED_IN_LINE])
        yield _note(
            indent,
            "  "
            + ", ".join(
                f"line {line}" + (f" {quoted(name)}" if name else "") for line, name in named
            ),
        )


def _given(node: WorldNode) -> str:
    given, size = [], 0
    for name, values in node.fields.items():
        if name in _PLAIN_FIELDS or not values:
            continue
        if size > LONGEST_COMMENT:
            break  # the rest is not shown
        some = values[:LONGEST_COMMENT]
        texts = [each.text[:LONGEST_COMMENT] if isinstance(each, Text) else each for each in some]
        if all(isinstance(each, str | float) for each in texts):
            given.append(f"{name} {' '.join(item(each) for each in texts)}")
            size += len(given[-1])
    return ", ".join(given)


def _version(header: str) -> tuple[str, str]:
    match = _VERSION.match(header)
    try:
        if match is None:
            raise ConfigError("unknown")
        upright_axis(match[1])
    except ConfigError:
        known = f"{quoted(header)} is not a version that hilgw supports"
        return OLDEST, f"{known}: the rules of {OLDEST} apply"
    return match[1], ""


def _shared_axes(devices: list[SceneDevice]) -> set[int]:
    counts = Counter(device.axis.number for device in devices if device.axis is not None)
    return {number for number, count in counts.items() if count > 1}


def _pose(
    indent: int,
    position: Vector,
    rotation: Rotation,
    *,
    names: tuple[str, str],
    always: bool = False,
) -> Iterator[str]:
    space = " " * indent
    if not _is_near(position):
        yield _note(indent, f"its {names[0]} {list(position)} is too far away")
        return
    if always or item(position) != item(_ORIGIN):
        yield f"{space}{names[0]}: {item(position)}"
    if item(rotation) != item(NO_ROTATION):
        yield f"{space}{names[1]}: {item(rotation)}"


def _is_near(position: Vector) -> bool:
    return all(abs(each) <= _LARGEST_M for each in position)


def _note(indent: int, words: str) -> str:
    return " " * indent + comment(words)
