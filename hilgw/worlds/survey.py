"""The robots, devices and obstacles of a world, with their frames.

A PROTO instance shows its fields only: additions of its file stay hidden, and notes name them.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from hilgw.errors import ConfigError, quoted
from hilgw.worlds.frames import NO_ROTATION, WORLD, Frame, Rotation, Vector
from hilgw.worlds.nodes import (
    AXES,
    BELOW,
    BOUNDS,
    DEVICE_NAMES,
    JOINTS,
    KNOWN,
    POSED,
    ROBOT_FIELDS,
    ROBOT_FOLDER,
    ROBOTS,
    SCALED_UNTIL,
    Parameter,
    World,
    WorldNode,
)

MAX_VISITS = 200_000
"""Nodes of the scene, each as often as it is used: a few lines with USE could make billions."""
MAX_VALUES = 1_000_000
"""Values of these nodes, in the same way."""

NO_SCALE: Vector = (1.0, 1.0, 1.0)


@dataclass(frozen=True, slots=True)
class Axis:
    """The axis of a joint that a device is on.

    number: of the axis in its robot. kind: rotational or linear. position: at the start.
    """

    number: int
    kind: str
    position: float


@dataclass(slots=True)
class SceneDevice:
    """A device of a robot."""

    node: WorldNode
    name: str
    frame: Frame
    axis: Axis | None


@dataclass(slots=True, eq=False)
class SceneRobot:
    """A robot.

    is_proto: its node is an instance of a PROTO. url: of the PROTO. hidden: instances of PROTOs in
    it. notes: properties that a configuration cannot express.
    """

    node: WorldNode
    frame: Frame
    is_proto: bool
    url: str = ""
    devices: list[SceneDevice] = field(default_factory=list)
    hidden: list[WorldNode] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    axes: int = 0

    @property
    def name(self) -> str:
        return self.node.text("name") or ROBOTS.get(self.node.kind, self.node.kind)

    @property
    def is_robot(self) -> bool:
        """True for a robot; a PROTO is one if it has devices, or the URL or a field of robots."""
        fields = ROBOT_FIELDS & self.node.fields.keys()
        return not self.is_proto or bool(fields or self.devices) or ROBOT_FOLDER in self.url


@dataclass(frozen=True, slots=True)
class Bounds:
    """The boundingObject of a solid, in the frame of the solid."""

    solid: WorldNode
    shapes: list[WorldNode]
    frame: Frame
    robot: SceneRobot | None


class Work:
    """The limit of work with the nodes of a world: a count, the same on every machine."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._visits = 0
        self._values = 0

    def spend(self, node: WorldNode) -> None:
        """Count one more use of a node.

        Raises ConfigError, `where` as file:line:column.
        """
        self._visits += 1
        self._values += node.size
        if self._visits > MAX_VISITS:
            raise self._error(node, f"more than {MAX_VISITS} nodes")
        if self._values > MAX_VALUES:
            raise self._error(node, f"nodes with more than {MAX_VALUES} values")

    def _error(self, node: WorldNode, problem: str) -> ConfigError:
        return ConfigError(problem, where=f"{self._file}:{node.line}:1", fix="USE fewer nodes")


@dataclass(slots=True)
class WorldScene:
    """The contents of a world.

    hidden: the instances of PROTOs that are not robots, by PROTO. notes: other parts that do not
    become part of a configuration, and why.
    """

    robots: list[SceneRobot] = field(default_factory=list)
    hidden: dict[str, list[WorldNode]] = field(default_factory=dict)
    bounds: list[Bounds] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Visit:
    node: WorldNode
    frame: Frame
    robot: SceneRobot | None
    axis: Axis | None = None


def survey(world: World, file: str) -> WorldScene:
    """Return the scene of a world.

    Raises:
      ConfigError: the world uses nodes too often; `where` is file:line.
    """
    return _Surveyor(world, file).scene()


class _Surveyor:
    def __init__(self, world: World, file: str) -> None:
        self._world = world
        self._scene = WorldScene()
        self._work = Work(file)
        self._is_scaled = world.version < SCALED_UNTIL or not world.version.startswith("R")

    def scene(self) -> WorldScene:
        for line, name in self._world.unknown:
            self._scene.notes.append(f"line {line}: USE {quoted(name)} without a DEF before it")
        waiting = [_Visit(node, WORLD, None) for node in reversed(self._world.nodes)]
        while waiting:
            visit = waiting.pop()
            self._work.spend(visit.node)
            waiting.extend(reversed(list(self._visit(visit))))
        for robot in self._scene.robots:
            if not robot.is_robot:
                self._scene.notes.extend(robot.notes)
                for node in (robot.node, *robot.hidden):
                    self._scene.hidden.setdefault(node.kind, []).append(node)
        self._scene.robots = [robot for robot in self._scene.robots if robot.is_robot]
        return self._scene

    def _visit(self, visit: _Visit) -> Iterator[_Visit]:
        node, robot = visit.node, visit.robot
        is_proto = node.kind not in KNOWN
        frame = self._frame(visit) if is_proto or node.kind in POSED else visit.frame
        if node.kind in ROBOTS or (is_proto and robot is None):
            robot = self._robot(visit, frame, is_proto)
        elif is_proto and robot is not None:
            robot.hidden.append(node)
        elif node.kind in DEVICE_NAMES:
            self._device(visit, frame)
        if (shapes := node.nodes("boundingObject")) and node.kind != "Fluid":
            self._scene.bounds.append(Bounds(node, shapes, frame, robot))
        yield from self._below(node, frame, robot, is_proto)

    def _below(
        self, node: WorldNode, frame: Frame, robot: SceneRobot | None, is_proto: bool
    ) -> Iterator[_Visit]:
        kind = JOINTS.get(node.kind)
        for name in node.fields if is_proto else (*AXES, *BELOW):
            if name == "boundingObject" or name.lower().endswith("appearance"):
                continue
            axis = None
            if kind is not None and robot is not None and name in AXES and node.nodes(name):
                axis = self._axis(node, name, kind, robot)
            for child in node.nodes(name):
                yield _Visit(child, frame, robot, axis)
            if any(isinstance(value, Parameter) for value in node.fields.get(name, ())):
                self._note(robot, f"line {node.line}: {name} IS a parameter, its value is hidden")

    def _axis(self, node: WorldNode, name: str, kind: str, robot: SceneRobot) -> Axis:
        robot.axes += 1
        position = 0.0
        for parameters in node.nodes(AXES[name]):
            position = parameters.number("position") or 0.0
        return Axis(robot.axes, kind, position)

    def _robot(self, visit: _Visit, frame: Frame, is_proto: bool) -> SceneRobot:
        robot = SceneRobot(visit.node, frame, is_proto, self._world.protos.get(visit.node.kind, ""))
        if visit.robot is not None and visit.robot.is_robot:
            outer = quoted(visit.robot.name)
            robot.notes.append(f"in Webots it moves with robot {outer}; here its pose is fixed")
        self._scene.robots.append(robot)
        return robot

    def _device(self, visit: _Visit, frame: Frame) -> None:
        node = visit.node
        name = node.text("name") or DEVICE_NAMES[node.kind]
        if visit.robot is None:
            self._scene.notes.append(f"line {node.line}: {node.kind} {quoted(name)} is on no robot")
            return
        visit.robot.devices.append(SceneDevice(node, name, frame, visit.axis))

    def _frame(self, visit: _Visit) -> Frame:
        node = visit.node
        frame = _child(node, visit.frame, self._scale(visit))
        if frame.is_finite:
            return frame
        self._note(visit.robot, f"line {node.line}: the pose of {node.kind} is not finite, ignored")
        return visit.frame

    def _scale(self, visit: _Visit) -> Vector:
        node = visit.node
        scale = _vector(node, "scale", NO_SCALE)
        if scale == NO_SCALE:
            return scale
        if node.kind != "Transform" and node.kind in KNOWN and not self._is_scaled:
            problem = f"{node.kind} has no scale in Webots {self._world.version}, ignored"
            self._note(visit.robot, f"line {node.line}: {problem}")
            return NO_SCALE
        if 0.0 in scale:
            problem = f"line {node.line}: scale 0 is not allowed, Webots takes 1"
            self._note(visit.robot, problem)
        x, y, z = (each or 1.0 for each in scale)
        return (x, y, z)

    def _note(self, robot: SceneRobot | None, note: str) -> None:
        (self._scene if robot is None else robot).notes.append(note)


def pose_of(node: WorldNode, frame: Frame) -> Frame | None:
    """Return the frame of a node in a frame; None if it is not finite."""
    scale = _vector(node, "scale", NO_SCALE) if node.kind == "Transform" else NO_SCALE
    inner = _child(node, frame, scale)
    return inner if inner.is_finite else None


def _child(node: WorldNode, frame: Frame, scale: Vector) -> Frame:
    return frame.child(_vector(node, "translation", (0.0, 0.0, 0.0)), _rotation(node), scale)


def _vector(node: WorldNode, name: str, default: Vector) -> Vector:
    values = node.numbers(name)
    return (values[0], values[1], values[2]) if len(values) == 3 else default


def _rotation(node: WorldNode) -> Rotation:
    values = node.numbers("rotation")
    return (values[0], values[1], values[2], values[3]) if len(values) == 4 else NO_ROTATION


# --- the shapes of a boundingObject, as the obstacles that a medium has ---------------------------


MAX_SHAPES = 10_000
"""Nodes visited of one boundingObject."""

_LARGEST_M = 1e6
_DEFAULTS = {"size": (2.0, 2.0, 2.0), "radius": (1.0,), "height": (2.0,)}
_DIMENSIONS: dict[str, tuple[str, ...]] = {
    "Box": ("size",),
    "Sphere": ("radius",),
    "Cylinder": ("radius", "height"),
    "Capsule": ("radius", "height"),
}


@dataclass(frozen=True, slots=True)
class Shape:
    """An obstacle. dimensions: radius, height or size. frame: in the world."""

    kind: str
    dimensions: dict[str, float | Vector]
    frame: Frame


def shapes_of(bounds: Bounds, upright: int, work: Work) -> tuple[list[Shape], list[str]]:
    """Return the shapes of a boundingObject, and notes on those that cannot be obstacles.

    `upright` is the axis of cylinders and capsules.

    Raises:
        ConfigError: `work` allows no more.
    """
    shapes, notes = list[Shape](), list[str]()
    for node, frame in _geometries(bounds, notes, work):
        shape = _shape(node, frame, upright, notes)
        if isinstance(shape, Shape):
            shapes.append(shape)
        else:
            notes.append(f"line {node.line}: {shape}")
    return shapes, notes


def _geometries(bounds: Bounds, notes: list[str], work: Work) -> Iterator[tuple[WorldNode, Frame]]:
    waiting = [(node, bounds.frame) for node in reversed(bounds.shapes)]
    for _ in range(MAX_SHAPES):
        if not waiting:
            return
        node, frame = waiting.pop()
        work.spend(node)
        if node.kind not in BOUNDS:
            yield node, frame
            continue
        if node.kind in ("Pose", "Transform"):
            inner = pose_of(node, frame)
            if inner is None:
                notes.append(f"line {node.line}: the pose of {node.kind} is not finite, ignored")
                continue
            frame = inner
        below = node.nodes("geometry" if node.kind == "Shape" else "children")
        waiting.extend((child, frame) for child in reversed(below))
    notes.append(f"line {bounds.solid.line}: more than {MAX_SHAPES} shapes, the rest is left out")


def _shape(node: WorldNode, frame: Frame, upright: int, notes: list[str]) -> Shape | str:
    if node.kind not in KNOWN:
        return f"PROTO {node.kind} hides its shape, it is not among the obstacles"
    if node.kind not in _DIMENSIONS:
        return f"{node.kind} cannot be an obstacle: infra-red signals pass it"
    x, y, z = (abs(each) for each in frame.scale)
    across = max(each for axis, each in enumerate((x, y, z)) if axis != upright)
    radius = max(x, y, z) if node.kind == "Sphere" else across
    factors = {"size": (x, y, z), "radius": (radius,), "height": ((x, y, z)[upright],)}
    dimensions: dict[str, float | Vector] = {}
    for name in _DIMENSIONS[node.kind]:
        given = _dimension(node, name, notes)
        made = tuple(each * factor for each, factor in zip(given, factors[name], strict=True))
        if not all(0.0 < each <= _LARGEST_M for each in made):
            return f"{node.kind} of this size cannot be an obstacle"
        dimensions[name] = made[0] if len(made) == 1 else (made[0], made[1], made[2])
    return Shape(node.kind.lower(), dimensions, frame)


def _dimension(node: WorldNode, name: str, notes: list[str]) -> tuple[float, ...]:
    """Return the field, or Webots' replacement: WbBox, WbCylinder, WbFieldChecker."""
    default = _DEFAULTS[name]
    given = node.numbers(name) if name in node.fields else default
    if len(given) != len(default):
        notes.append(f"line {node.line}: {name} of a {node.kind} is not valid, the default is used")
        return default
    if any(each <= 0.0 for each in given):
        notes.append(f"line {node.line}: {name} of a {node.kind} is not positive, Webots takes 1")
        return (1.0,) * len(default)
    return given
