"""The nodes of Webots that matter to a configuration; every other name is a PROTO.

Webots reference manual, one section per node, and "Nodes chart".
"""

from __future__ import annotations

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
"""Fields of nodes, beside those of `AXES`, whose nodes belong to the scene."""

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
