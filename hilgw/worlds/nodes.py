"""The contents of a world file: nodes with fields, as written."""

from dataclasses import dataclass, field


@dataclass(slots=True, eq=False)
class WorldNode:
    """A node, or a PROTO instance.

    kind: its type. label: its DEF name, or "". line: of the file, from 1. fields: name -> values:
    one for an SF field, any number for an MF field, three numbers for a vector; a node that is used
    (USE) is the same object again. partial: fields with more numbers than are kept.
    """

    kind: str
    line: int
    label: str = ""
    fields: "dict[str, list[Value]]" = field(default_factory=dict)
    partial: set[str] = field(default_factory=set)

    @property
    def size(self) -> int:
        """The number of values that are read to use it once."""
        return 1 + sum(map(len, self.fields.values()))

    def number(self, name: str) -> float | None:
        """Return the field if it is one number."""
        values = self.fields.get(name, ())
        return values[0] if len(values) == 1 and isinstance(values[0], float) else None

    def numbers(self, name: str) -> tuple[float, ...]:
        """Return the numbers of the field."""
        return tuple(each for each in self.fields.get(name, ()) if isinstance(each, float))

    def text(self, name: str) -> str | None:
        """Return the field if it is one string."""
        values = self.fields.get(name, ())
        return values[0].text if len(values) == 1 and isinstance(values[0], Text) else None

    def flag(self, name: str) -> bool | None:
        """Return the field if it is TRUE or FALSE."""
        values = self.fields.get(name, ())
        return values[0] if len(values) == 1 and isinstance(values[0], bool) else None

    def nodes(self, name: str) -> "list[WorldNode]":
        """Return the nodes of the field, in order."""
        return [each for each in self.fields.get(name, ()) if isinstance(each, WorldNode)]


@dataclass(frozen=True, slots=True)
class Text:
    """A string of the file."""

    text: str


@dataclass(frozen=True, slots=True)
class Parameter:
    """`IS name`: the value is a parameter of the surrounding PROTO."""

    name: str


Value = float | bool | Text | WorldNode | Parameter | None


@dataclass(slots=True)
class World:
    """A world file.

    version: as in the header, such as "R2025a". protos: name -> URL of each EXTERNPROTO. unknown:
    (line, name) of each USE without a DEF before it.
    """

    version: str
    protos: dict[str, str] = field(default_factory=dict)
    nodes: list[WorldNode] = field(default_factory=list)
    unknown: list[tuple[int, str]] = field(default_factory=list)


# --- the nodes of Webots that matter to a configuration; every other name is a PROTO --------------


ROBOTS = {
    "Robot": "robot",
    "Supervisor": "supervisor",
    "DifferentialWheels": "differential wheels",
}
"""Nodes that are robots, with the default of `name`. The last two are of old versions."""

DEVICE_NAMES = {
    "Accelerometer": "accelerometer",
    "Altimeter": "altimeter",
    "Brake": "brake",
    "Camera": "camera",
    "Compass": "compass",
    "Connector": "connector",
    "Display": "display",
    "DistanceSensor": "distance sensor",
    "Emitter": "emitter",
    "GPS": "gps",
    "Gyro": "gyro",
    "InertialUnit": "inertial unit",
    "LED": "led",
    "Lidar": "lidar",
    "LightSensor": "light sensor",
    "LinearMotor": "linear motor",
    "Microphone": "microphone",
    "Pen": "pen",
    "PositionSensor": "position sensor",
    "Radar": "radar",
    "Radio": "radio",
    "RangeFinder": "range-finder",
    "Receiver": "receiver",
    "RotationalMotor": "rotational motor",
    "Skin": "skin",
    "Speaker": "speaker",
    "TouchSensor": "touch sensor",
    "VacuumGripper": "vacuum gripper",
}
"""Devices, with the default of `name`."""

JOINTS = {
    "HingeJoint": "rotational",
    "Hinge2Joint": "rotational",
    "BallJoint": "rotational",
    "SliderJoint": "linear",
    "Track": "linear",
    "Propeller": "rotational",
}
"""Nodes with devices on an axis, and how that moves."""

AXES = {"device": "jointParameters", "device2": "jointParameters2", "device3": "jointParameters3"}
"""The fields of a joint with devices, and the parameters of the same axis."""

BELOW = ("children", "endPoint")
"""Fields of nodes, besides those of `AXES`, whose nodes belong to the scene."""

POSED = {"Pose", "Transform", "Solid", "Charger", "Fluid", "Track", "TrackWheel", *ROBOTS} | {
    kind for kind in DEVICE_NAMES if not kind.endswith("Motor")
} - {"Brake", "PositionSensor"}
"""Nodes with translation and rotation."""

SCALED_UNTIL = "R2023b"
"""From this version on, Transform alone has a scale."""

OTHERS = """
Appearance Background Billboard BallJointParameters CadShape Capsule ColladaShape Color Cone Box
ContactProperties Coordinate Cubemap Cylinder Damping DirectionalLight ElevationGrid Focus Fog Group
Hinge2JointParameters HingeJointParameters ImageTexture ImmersionProperties IndexedFaceSet
IndexedLineSet JointParameters Lens LensFlare Material Mesh Muscle Normal PBRAppearance Physics
Plane PointLight PointSet Recognition Shape Slot SolidReference Sphere SpotLight TextureCoordinate
TextureTransform Viewpoint WorldInfo Zoom
"""

KNOWN = {*ROBOTS, *DEVICE_NAMES, *JOINTS, *POSED, *OTHERS.split()}
"""All nodes of Webots."""

BOUNDS = {"Group", "Shape", "Pose", "Transform"}
"""Nodes of a boundingObject around its shapes."""

ROBOT_FIELDS = {"controller", "controllerArgs", "synchronization", "supervisor", "customData"} | {
    "window",
    "battery",
    "selfCollision",
    "remoteControl",
}
"""Fields by which an instance of a PROTO shows that it is a robot."""

ROBOT_FOLDER = "/robots/"
"""Webots keeps the PROTOs of robots in folders below this one."""
