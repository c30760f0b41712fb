"""World files become configurations that load, with what they hide named in comments."""

import math
from typing import Any

import pytest
import yaml
from hypothesis import given, strategies as st

from hilgw.bodies.epuck.settings import EPuckSettings, devices_of
from hilgw.config.load import load_text
from hilgw.config.model import GatewayConfig
from hilgw.errors import ConfigError
from hilgw.medium.pose import Pose
from hilgw.worlds import parser, survey
from hilgw.worlds.configuration import ConfigurationLimits, configuration
from hilgw.worlds.parser import parse
from tests.work import all_calls


def imported(body: str, version: str = "R2025a") -> str:
    data = f"#VRML_SIM {version} utf8\n{body}".encode()
    return configuration(parse(data, "arena.wbt"), "arena.wbt")


def loaded(body: str, version: str = "R2025a") -> GatewayConfig:
    return load_text(imported(body, version), "arena.yaml").config


def device(fields: str, version: str = "R2025a") -> tuple[Any, str]:
    """The only device of a robot, and the text."""
    body = f"Robot {{ children {fields} }}"
    (made,) = loaded(body, version).robots["robot"].devices.values()
    return made, imported(body, version)


ARENA = """
EXTERNPROTO "webots://projects/robots/gctronic/e-puck/protos/E-puck.proto"
EXTERNPROTO "../protos/Fence.proto"
WorldInfo { basicTimeStep 16 gpsCoordinateSystem "WGS84" }
Viewpoint { position 0 0 9 }
Fence { name "north" size 3 }
Pose {
  translation 1 0 0 rotation 0 0 1 1.5707963267948966
  children [
    DEF ROVER Robot {
      translation 0 2 0.5
      children [
        DEF BODY Shape { geometry DEF BOX Box { size 0.2 0.1 0.05 } }
        Transform {
          scale 2 2 2
          children [
            HingeJoint {
              jointParameters HingeJointParameters { position 0.25 axis 0 1 0 }
              device [
                RotationalMotor { name "pan" maxVelocity 3 minPosition -1 maxPosition 1 }
                PositionSensor { name "pan sensor" }
              ]
              endPoint Solid {
                translation 0.1 0 0 rotation 0 0 1 -1.5707963267948966
                children [ Emitter { name "tx" translation 0 0.05 0 type "infra-red" range 3
                  maxRange 5 aperture 0.5 channel 4 baudRate 9600 byteSize 10 bufferSize 64
                  allowedChannels [ 4, 5 ] model "TSAL6200" } ]
                name "head"
                physics Physics { }
                boundingObject Sphere { radius 0.05 }
              }
            }
          ]
        }
        Receiver { channel -1 type "serial" baudRate 115200 byteSize 11 bufferSize 128
          signalStrengthNoise 0.1 directionNoise 0.2 allowedChannels [ -1 7 ] }
        GPS { }
        Camera { name "eye" }
        SliderJoint { device LinearMotor { name "lift" maxForce 3 } }
      ]
      name "rover"
      controller "<extern>"
      boundingObject USE BODY
    }
  ]
}
E-puck { translation 0 0 0 controller "braitenberg" turretSlot [ Emitter { channel 2 } Hat { } ] }
Solid { translation 3 0 0 name "pillar" physics Physics { } boundingObject Group { children [
  Cylinder { radius 0.2 height 1 } Pose { translation 0 0 1 children [ USE BOX Plane { } ] } ] } }
"""


def test_an_arena() -> None:
    config = loaded(ARENA)
    assert (config.release, config.medium.step_ms) == ("R2025a", 16)
    assert list(config.robots) == ["rover", "E-puck"]
    rover = config.robots["rover"]
    assert rover.position == pytest.approx((-1, 0, 0.5))
    assert rover.rotation == pytest.approx((0, 0, 1, math.pi / 2))
    tx, rx = rover.devices["tx"], rover.devices["receiver"]
    assert (tx.type, tx.range, tx.maxRange, tx.aperture, tx.channel) == ("infra-red", 3, 5, 0.5, 4)
    assert (tx.baudRate, tx.byteSize, tx.bufferSize, tx.model) == (9600, 10, 64, "TSAL6200")
    assert (tx.allowedChannels, rx.allowedChannels) == ((4, 5), (-1, 7))
    # The scale doubles both translations; the joint's end has turned the second.
    assert tx.translation == pytest.approx((0.3, 0, 0))
    assert tx.rotation == pytest.approx((0, 0, -1, math.pi / 2))
    assert (rx.type, rx.channel, rx.signalStrengthNoise) == ("serial", -1, 0.1)
    assert (rx.baudRate, rx.byteSize, rx.bufferSize) == (115200, 11, 128)
    assert (rx.directionNoise, rx.translation, rx.sampling_period_ms) == (0.2, (0, 0, 0), None)
    assert list(rover.devices) == ["pan", "pan sensor", "tx", "receiver", "gps", "lift"]
    pan, sensor, lift = (rover.devices[name] for name in ("pan", "pan sensor", "lift"))
    assert (pan.maxVelocity, pan.minPosition, pan.maxPosition, pan.position) == (3, -1, 1, 0.25)
    assert pan.joint == sensor.joint != ""
    assert (lift.maxForce, lift.joint) == (3, "")
    assert rover.devices["gps"].gpsCoordinateSystem == "WGS84"


def test_the_obstacles_of_an_arena() -> None:
    obstacles = loaded(ARENA).obstacles
    assert list(obstacles) == ["rover body", "rover head", "pillar", "pillar(1)"]
    body, head, pillar, top = obstacles.values()
    assert (body.shape, body.size, body.attached_to) == ("box", (0.2, 0.1, 0.05), "rover")
    assert (head.shape, head.radius, head.attached_to) == ("sphere", 0.1, "rover")
    assert head.position == (0.2, 0, 0)
    assert (pillar.shape, pillar.radius, pillar.height) == ("cylinder", 0.2, 1)
    assert (pillar.position, pillar.attached_to) == ((3, 0, 0), None)
    assert (top.shape, top.position) == ("box", (3, 0, 1))
    assert imported(ARENA).count("it can move in Webots") == 2  # the pillar, no robot


def test_sizes_are_those_that_webots_takes() -> None:
    body = """Solid { boundingObject Box { size -1 0 2 } }
Solid { boundingObject Sphere { radius "x" } } Solid { boundingObject Cylinder { height 0 } }"""
    box, sphere, cylinder = loaded(body).obstacles.values()
    assert (box.size, sphere.radius, cylinder.height) == ((1, 1, 1), 1, 1)
    assert "line 2: size of a Box is not positive, Webots takes 1" in imported(body)
    assert "line 3: radius of a Sphere is not valid, the default is used" in imported(body)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (ARENA, "# PROTO Fence hides its nodes (../protos/Fence.proto)\n#   line 7 'north'\n"),
        (
            ARENA,
            "    # PROTO E-puck hides its nodes (webots://projects/robots/gctronic/e-puck/protos/",
        ),
        (ARENA, "    # PROTO Hat hides its nodes\n"),
        (ARENA, "    # it hides the robot's name too: 'E-puck' is that of the PROTO\n"),
        (ARENA, "'eye': camera images are not carried yet; write `eye: {node: Camera, "),
        (ARENA, "Plane cannot be an obstacle: infra-red signals pass it\n"),
        (ARENA, "    # it can move in Webots; here its pose is fixed\n"),
        (ARENA, "    # controller 'braitenberg' is started by Webots; import-world --controllers "),
        ("Robot { supervisor TRUE }", "supervisor functions are not carried yet"),
        ("Supervisor { }", "supervisor functions are not carried yet"),
        ("Robot { children Camera { width 32 height 0 } }", "blank, width: 32, height: 64}`"),
        ("Rover { slot [ Emitter { } ] }", "robots:\n  Rover:\n"),
        (
            "Solid { boundingObject Pose { translation nan 0 0 children Box { } } }",
            "# line 2: the pose of Pose is not finite, ignored\n",
        ),
        ("Fence { appearance Paint { } }", "PROTO Fence hides its nodes"),
        ("Fence { boundingObject Hull { } }", "PROTO Hull hides its shape, it is not among the ob"),
        ("Transform { scale 1 0 1 }", "Webots takes 1"),
        ('Group { children [ Emitter { name "lost" } ] }', "Emitter 'lost' is on no robot"),
    ],
)
def test_comments_name_what_is_hidden(body: str, words: str) -> None:
    text = imported(body)
    assert words in text
    assert "PROTO Paint" not in text and "PROTO Hull hides its nodes" not in text


@pytest.mark.parametrize(("proto", "kind"), [("E-puck", "epuck"), ("Create", "create2")])
def test_a_robot_that_hilgw_has_a_body_for_has_its_devices(proto: str, kind: str) -> None:
    """Its program finds them as in Webots; those of the body are named so, too."""
    given = "emitter_channel 5 receiver_channel -7 camera_width 160 camera_height 1e300"
    slot = "groundSensorsSlot [ E-puckGroundSensors { } ]" * (proto == "E-puck")
    text = imported(f'{proto} {{ controller "<extern>" {given} {slot} }}')
    assert f"    # body: {{kind: {kind}, port: /dev/" in text and "are unknown" not in text
    assert load_text(text, "f").config.robots[proto].devices
    devices = yaml.safe_load(text)["robots"][proto]["devices"]
    nodes = {name: each["node"] for name, each in devices.items()}
    assert nodes["left wheel motor"] == "RotationalMotor" and nodes["receiver"] == "Receiver"
    if proto == "E-puck":
        body = devices_of(EPuckSettings(port="/dev/ttyUSB0"))
        own = {each.name: each.kind for each in body}
        own = {name: kind for name, kind in own.items() if not name.startswith("mic")}
        assert own.items() <= nodes.items()
        assert (devices["emitter"]["channel"], devices["receiver"]["channel"]) == (5, 1)
        assert (devices["camera"]["width"], devices["camera"]["height"]) == (160, 39)
        assert [name for name in nodes if name.startswith("gs")] == ["gs0", "gs1", "gs2"]
    unknown = imported('Nao { controller "<extern>" }')
    assert unknown.count("# its devices are unknown: write those that its programs use") == 1


def test_an_extern_robot_gets_a_controller() -> None:
    body = """Robot { name "a" controller "<extern>" } Robot { name "b" controller "brain" }
Robot { name "c" controller "<extern>" synchronization FALSE model "M: 1" customData "x"
battery [ 9.5 10 1 ] cpuConsumption 0.5 }
Robot { name "d" controller "<extern>" customData "a\0b" battery [ 9 10 -5 ] }
Robot { name "e" controller "<extern>" battery [ 10 9 1 ] }"""
    robots = loaded(body).robots
    first, second, third, fourth, fifth = (robot.controller for robot in robots.values())
    assert fourth is not None
    assert fifth is not None
    assert (fourth.settings.customData, fourth.settings.battery) == ("ab", (9, 10, 0))
    assert fifth.settings.battery == ()  # fuller than full
    assert first is not None
    assert third is not None
    assert second is None
    assert (first.kind, first.settings.listen) == ("webots", "tcp://127.0.0.1:1234")
    assert first.settings.synchronization
    assert third.settings.listen == first.settings.listen
    assert not third.settings.synchronization
    assert (third.settings.model, third.settings.customData) == ("M: 1", "x")
    assert third.settings.battery == (9.5, 10, 1) and third.settings.cpuConsumption == 0.5


@pytest.mark.parametrize(
    ("given_fields", "name", "taken", "note"),
    [
        ('type "laser"', "type", "radio", "type 'laser' does not exist, Webots takes radio"),
        ("range -3", "range", 3, "range -3 is not allowed, Webots takes 3"),
        ("maxRange 0", "maxRange", -1, "maxRange 0 is not positive"),
        ("maxRange -2", "maxRange", -1, "maxRange -2 is not allowed, Webots takes -1"),
        ("range 9 maxRange 5", "range", 9, "range 9 is beyond maxRange 5"),
        ("aperture 7", "aperture", -1, "aperture 7 is not allowed, Webots takes -1"),
        ("aperture nan", "aperture", -1, "aperture nan is not allowed"),
        ("baudRate -9", "baudRate", -1, "baudRate -9 is not allowed, Webots takes -1"),
        ("byteSize 7", "byteSize", 8, "byteSize 7 is not allowed, Webots takes 8"),
        ("bufferSize -4", "bufferSize", -1, "bufferSize -4 is not allowed, Webots takes -1"),
        ("channel -5", "channel", 0, "channel -5 is not allowed, hilgw takes 0"),
        ("channel 1.7", "channel", 1, "channel 1.7 is not a whole number, 1 is used"),
        ("channel 9e99", "channel", 0, "channel 9e+99 is not allowed"),
        ('channel "x"', "channel", 0, "channel is not a number, the default 0 is used"),
        ("channel IS ch", "channel", 0, "channel IS a parameter, its value is hidden"),
        ("channel -1", "channel", -1, "channel -1 broadcasts on all channels"),
        ("channel 3 allowedChannels [4 5]", "channel", 4, "channel 3 is not in allowedChannels"),
        ("allowedChannels [0 -2 1.5]", "allowedChannels", (0,), "has no channel -2, it is left"),
        ("model TRUE", "model", "", "model is not a string"),
    ],
)
def test_an_emitter_gets_what_webots_takes(
    given_fields: str, name: str, taken: object, note: str
) -> None:
    made, text = device(f"Emitter {{ {given_fields} }}")
    assert getattr(made, name) == taken
    assert f"# line 2: {note}" in text or f" {note}" in text


@pytest.mark.parametrize(
    ("node", "name", "taken", "note"),
    [
        ("Receiver { bufferSize 0 }", "bufferSize", -1, "bufferSize 0 is not positive"),
        ("Receiver { baudRate 0 }", "baudRate", -1, "baudRate 0 is not positive"),
        ("Receiver { directionNoise -1 }", "directionNoise", 0, "Webots takes 0"),
        ("DistanceSensor { aperture -2 }", "aperture", 1.5708, "Webots takes 1.5708"),
        ("DistanceSensor { lookupTable [0 1] }", "lookupTable", None, "lookupTable is not valid"),
        ("RotationalMotor { maxVelocity -4 }", "maxVelocity", 4, "Webots takes 4"),
        ("RotationalMotor { controlPID 1 2 }", "controlPID", (10, 0, 0), "controlPID is not valid"),
        ("RotationalMotor { acceleration -3 }", "acceleration", -1, "Webots takes -1"),
    ],
)
def test_other_devices_get_what_webots_takes(
    node: str, name: str, taken: object, note: str
) -> None:
    made, text = device(node)
    expected = type(made)() if taken is None else None
    assert getattr(made, name) == (getattr(expected, name) if expected else taken)
    assert note in text


def test_lookup_tables_and_joints() -> None:
    assert device("LightSensor { lookupTable [ 0 1 0, 2 3 0.5 ] }")[0].lookupTable == (
        (0, 1, 0),
        (2, 3, 0.5),
    )
    assert device("DistanceSensor { lookupTable [ ] }")[0].lookupTable == ()
    on_slider = "SliderJoint { device [ Brake { } ] }"
    assert device(on_slider)[0].type == "linear"
    on_hinge = "Hinge2Joint { jointParameters2 JointParameters { position -2 } device2 "
    assert device(on_hinge + "RotationalMotor { } }")[0].position == -2


@pytest.mark.parametrize(
    ("header", "known", "upright"),
    [
        ("R2021b", True, "NUE"),
        ("R2023b revision 1", True, "ENU"),
        ("V8.6.2", False, "NUE"),
        ("R2018b", False, "NUE"),
    ],
)
def test_versions(header: str, known: bool, upright: str) -> None:
    """The key `webots` is the version of a library, which a world file does not have."""
    body = 'Robot { controller "<extern>" children InertialUnit { } }'
    config = loaded(body, header)
    assert "webots" not in yaml.safe_load(imported(body, header))
    assert config.release == "R2025a"
    assert config.robots["robot"].devices["inertial unit"].coordinateSystem == upright
    assert ("is not a version that hilgw supports" in imported(body, header)) != known


def test_what_an_old_world_has_stands_as_it_did() -> None:
    """Before R2022a y was the axis of cylinders, z that of cones; a configuration has z and x."""
    body = """
Solid { translation 1 2 3 boundingObject Cylinder { } }
Solid { translation 1 2 3 boundingObject Box { } }
Robot { children [
  Emitter { name "cone" type "infra-red" aperture 1 rotation 1 0 0 1.5707963 }
  Receiver { name "all" } ] }
"""
    old, new = loaded(body, "R2021c"), loaded(body, "R2022a")
    cylinder, box = (
        Pose.from_axis_angle(each.position, each.rotation) for each in old.obstacles.values()
    )
    assert cylinder.axis(2) == pytest.approx((0, 1, 0), abs=1e-6)
    assert box.axis(2) == pytest.approx((0, 0, 1), abs=1e-6)
    assert cylinder.position == (1, 2, 3)
    cone, everywhere = old.robots["robot"].radios.values()
    axis = Pose.from_axis_angle(cone.translation, cone.rotation).axis(0)
    assert axis == pytest.approx((0, -1, 0), abs=1e-6)  # of z, by a quarter around x
    assert everywhere.rotation == [*new.robots["robot"].radios.values()][1].rotation
    assert len({each.rotation for each in new.obstacles.values()}) == 1


STARTED = """
Robot { name "a/b" controller "drive" synchronization FALSE
  children [ Emitter { name "front/tx" } Camera { name "eye" width 32 } ] }
Robot { name "on" controller "<extern>" }
Robot { name "none" controller "<none>" }
Robot { name "default" }
E-puck { name "proto" customData "x" }
"""


def test_controllers_that_webots_starts_can_connect() -> None:
    text = configuration(
        parse(f"#VRML_SIM R2025a utf8\n{STARTED}".encode(), "f"), "f", controllers=True
    )
    robots = load_text(text, "f").config.robots
    listening = {name: each.controller for name, each in robots.items() if each.controller}
    assert {*listening} == {"a/b", "on", "proto"}
    assert {each.settings.listen for each in listening.values()} == {"tcp://127.0.0.1:1234"}
    assert [each.settings.synchronization for each in listening.values()] == [False, True, True]
    assert {*loaded(STARTED).robots} == {*robots}
    assert {*robots["a/b"].devices} == {"front/tx"}  # a slash stays
    assert [name for name, each in loaded(STARTED).robots.items() if each.controller] == ["on"]
    assert "import-world --controllers" in imported(STARTED)


def test_scale_is_of_solids_until_r2023a_and_of_transforms() -> None:
    body = "%s { scale 2 2 2 children Robot { translation 1 0 0 } }"
    assert loaded(body % "Solid", "R2023a").robots["robot"].position == (2, 0, 0)
    assert loaded(body % "Solid", "R2023b").robots["robot"].position == (1, 0, 0)
    assert "Solid has no scale in Webots R2023b, ignored" in imported(body % "Solid", "R2023b")
    assert loaded(body % "Transform", "R2025a").robots["robot"].position == (2, 0, 0)
    flat = "Transform { scale 2 0 2 children Robot { translation 1 1 0 } }"
    assert loaded(flat).robots["robot"].position == (2, 1, 0)
    inside = "Solid { boundingObject Transform { translation 0 0 2 children Box { } } }"
    assert loaded(inside).obstacles["Solid"].position == (0, 0, 2)


def test_what_blocks_no_ray_is_not_an_obstacle() -> None:
    body = "Fluid { boundingObject Box { } } Solid { children Shape { geometry Box { } } }"
    assert not loaded(body).obstacles


@pytest.mark.parametrize(("version", "factors"), [("R2021b", (4, 3)), ("R2022a", (3, 4))])
def test_a_cylinder_is_scaled_along_its_axis(version: str, factors: tuple[int, int]) -> None:
    """And a sphere by the largest scale, also where that turns it inside out."""
    solids = "".join(f"Solid {{ boundingObject {kind} {{ }} }} " for kind in ("Capsule", "Sphere"))
    body = f"Transform {{ scale 2 3 -4 children [ {solids} ] }}"
    made, sphere = loaded(body, version).obstacles.values()
    assert (made.radius, made.height, sphere.radius) == (factors[0], 2 * factors[1], 4)


@pytest.mark.parametrize(
    ("given_step", "step"), [("8", 8), ("8.4", 8), ("0.2", 1), ("1e9", 60_000), ("nan", 32)]
)
def test_the_basic_time_step(given_step: str, step: int) -> None:
    body = f"WorldInfo {{ basicTimeStep {given_step} }}"
    assert loaded(body).medium.step_ms == step
    assert ("# basicTimeStep" in imported(body)) == (given_step != "8")
    assert loaded("").medium.step_ms == 32


def test_names_become_legal_and_differ() -> None:
    long = "n" * 99
    body = """
Robot { name "all" } Robot { name "a.b:c/d" } Robot { name "a_b_c_d" } Robot { name " \\\\x " }
Robot { name "" } Robot { name "on" children [ LED { name "14" } LED { name "14" }
  LED { name "a:b" } LED { name "LONG" } LED { name "LONG" } LED { name "wheel::left" }
  LED { name "a:b:::c" } ] }
Solid { name "on" boundingObject Box { } } Robot { name "yes" }
""".replace("LONG", long)
    config = loaded(body)
    names = ["all_", "a_b_c/d", "a_b_c_d", "\\x", "robot", "on", "yes"]
    assert list(config.robots) == list(yaml.safe_load(imported(body))["robots"]) == names
    # Webots couples motors whose names are equal up to "::"; a single colon is not for names.
    named = ["14", "14(1)", "a_b", "n" * 64, "n" * 61 + "(1)", "wheel::left", "a_b::_c"]
    assert list(config.robots["on"].devices) == named
    assert list(config.obstacles) == ["on(1)"]
    assert "its name is 'a.b:c/d'" in imported(body)
    assert "its name is 'E-puck'" in imported("E-puck { controller 'x' } ".replace("'", '"') * 2)
    assert "its name is 'a:b'" in imported(body)


def test_text_of_a_world_cannot_leave_its_comment_or_its_quotes() -> None:
    evil = 'x\nversion: 2\n# \u2028 \\" \U0001f600 \u200b'
    body = f"""Thing {{ name "{evil}" }}
Robot {{ name "{evil}" controller "{evil}" children [
  Emitter {{ model "{evil}" type "{evil}" }} Camera {{ name "{evil}" }} ] }}"""
    (robot,) = loaded(body).robots.values()
    assert robot.devices["emitter"].model == evil.replace('\\"', '"')


def test_robots_in_robots() -> None:
    body = """Robot { name "big" translation 1 0 0 children [
  Robot { name "small" translation 0 1 0 children Receiver { } } ] }"""
    config = loaded(body)
    assert config.robots["small"].position == (1, 1, 0)
    assert (list(config.robots["big"].devices), len(config.robots["small"].devices)) == ([], 1)
    assert "in Webots it moves with robot 'big'" in imported(body)


def test_poses_that_no_number_holds() -> None:
    body = """Robot { name "a" translation 1e10 0 0 } Robot { name "b" rotation 0 0 0 1 }
Robot { name "c" translation nan 0 0 children Emitter { translation 0 1e99 0 } }
Solid { translation 0 0 1e12 boundingObject Sphere { } }
Solid { boundingObject Box { size 1 1 1e7 } } Solid { boundingObject Sphere { radius nan } }"""
    config = loaded(body)
    assert [robot.position for robot in config.robots.values()] == [None, (0, 0, 0), (0, 0, 0)]
    assert not config.obstacles
    text = imported(body)
    for words in ("is too far away", "is not finite, ignored", "of this size cannot be an obst"):
        assert words in text


def test_a_world_that_uses_itself_billions_of_times_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(survey, "MAX_VISITS", 1000)
    monkeypatch.setattr(survey, "MAX_SHAPES", 1000)
    body = "DEF A0 Group { }\n" + "".join(
        f"DEF A{n} Group {{ children [ {f'USE A{n - 1} ' * 20} ] }}\n" for n in range(1, 9)
    )
    with pytest.raises(ConfigError, match="more than 1000 nodes") as error:
        imported(body)
    assert error.value.where.startswith("arena.wbt:")
    uses = "DEF B Group { children [ " + "Box { } " * 40 + "] } " + "USE B " * 40
    text = imported("Solid { boundingObject Group { children [ " + uses + " ] } }")
    assert "more than 1000 shapes, the rest is left out" in text


def hostile(many: int) -> dict[str, str]:
    """Worlds that have something very often."""
    group = "DEF B Group {{ children [ {} ] }} "
    solids = "Solid { boundingObject USE B } " * many
    numbers, large = "1 " * many * 8, "x" * 100_000
    return {
        "words": "Robot { " + "x 1 " * many * 12,
        "nodes": "Solid { } " * many * 2,
        "numbers": group.format("1 " * many * 140),
        "shapes": group.format("Box { } " * 500) + solids,
        "groups": group.format("Group { } " * 500) + solids,
        "used inside": "Group { children [ " * 900 + "DEF A Solid { } " + "USE A " * many * 6,
        "values": group.format(numbers) + "USE B " * many,
        "fields of a PROTO": f'DEF P Thing {{ x [ {numbers}] controller "x" }} ' + "USE P " * many,
        "a long name": f'DEF S Solid {{ name "{large}" boundingObject Box {{ }} }} '
        + "USE S " * many,
        "long names of robots": f'DEF R Robot {{ name "{large}" }} '
        f'Robot {{ name "y{large}" children [ {"USE R " * many} ] }}',
        "notes": f"DEF E Emitter {{ allowedChannels [ {'-5.5 ' * many * 8}] }} "
        + "Robot { children [ USE E ] } " * many,
        "physics": f"Solid {{ physics [ {numbers}] boundingObject "
        f"Group {{ children [ {'Box { } ' * many}] }} }}",
    }


def work_of(body: str) -> tuple[int, str]:
    """How many functions of Python or C an import calls, and its error. A count, as the time
    depends on the machine."""
    data, problems = f"#VRML_SIM R2025a utf8\n{body}".encode(), [""]

    def make() -> None:
        try:
            configuration(
                parse(data, "arena.wbt"), "arena.wbt", ConfigurationLimits(100_000, 5_000)
            )
        except ConfigError as error:
            problems.append(f"{error.where}: {error.what}; {error.fix}")

    return all_calls(make), problems[-1]


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", hostile(1))
def test_the_work_of_an_import_is_bounded(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It does not grow with the product of how long a node is and how often it is used."""
    monkeypatch.setattr(parser, "MAX_TOKENS", 7_000)
    monkeypatch.setattr(survey, "MAX_VISITS", 700)
    monkeypatch.setattr(survey, "MAX_VALUES", 17_500)
    (few, _), (many, problem) = (work_of(hostile(number)[name]) for number in (500, 1000))
    assert many <= 2.2 * few
    if problem:
        assert problem.startswith("arena.wbt")
        assert "more than" in problem or "larger than" in problem
        assert problem.rpartition("; ")[2]


def test_each_limit_names_what_where_and_the_fix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parser, "MAX_TOKENS", 100)
    assert work_of("\n" + "Solid { } " * 40)[1] == (
        "arena.wbt:3:337: more than 100 words and signs; delete nodes that the radios do not need, "
        "or move them to PROTO files"
    )
    assert work_of("\n" + "Solid { } " * 33)[1] == ""  # 99
    monkeypatch.setattr(survey, "MAX_VALUES", 100)
    assert work_of("\nGroup { children [ " + "1 " * 100 + "] }")[1] == (
        "arena.wbt:3:1: nodes with more than 100 values; USE fewer nodes"
    )
    monkeypatch.undo()
    assert work_of("Robot { } " * 2000)[1] == (
        "arena.wbt: the world is larger than a configuration may be: 100000 bytes with 5000 "
        "values; delete solids and robots that the radios do not need"
    )


def test_a_large_mesh_is_imported_with_the_work_of_a_small_one() -> None:
    """The numbers of a list are read at once."""
    counted = []
    for size in (100, 10_000):
        mesh = "coord Coordinate { point [ " + "0.125 -1.5 2.25, " * size + "] } "
        mesh += "coordIndex [ " + "1, 2, 3, -1, " * size + "]"
        shape = "Shape { geometry IndexedFaceSet { " + mesh + " } }\n"
        counted.append(work_of(shape * 10 + 'Robot { name "rover" children [ Emitter { } ] }'))
    (few, none), (many, problem) = counted
    assert (none, problem) == ("", "")
    assert many <= 1.1 * few


def test_the_poses_are_those_of_nested_nodes() -> None:
    """Against the composition of the medium's poses, which is another program."""
    outer, inner, mount = (1, 2, 3), (0.5, -1, 0), (0.1, 0.2, 0.3)
    turns = ((1, 2, 2, 0.7), (0, 1, 1, -2.1), (3, 0, 4, 1.3))
    texts = [" ".join(map(str, turn)) for turn in turns]
    body = f"""Pose {{ translation 1 2 3 rotation {texts[0]} children [ Robot {{
translation 0.5 -1 0 rotation {texts[1]} children [ Slot {{ endPoint Solid {{ translation
0.1 0.2 0.3 children [ Emitter {{ rotation {texts[2]} }} ] }} }} ] }} ] }}"""
    robot = loaded(body).robots["robot"]
    expected = Pose.from_axis_angle(outer, turns[0]).compose(Pose.from_axis_angle(inner, turns[1]))
    made = Pose.from_axis_angle(robot.position or (0, 0, 0), robot.rotation or (0, 0, 1, 0))
    emitter = robot.radios["emitter"]
    assert made.position == pytest.approx(expected.position)
    assert sum(made.rows, ()) == pytest.approx(sum(expected.rows, ()))
    mounted = Pose.from_axis_angle(emitter.translation, emitter.rotation)
    assert mounted.position == pytest.approx(mount)
    assert sum(mounted.rows, ()) == pytest.approx(
        sum(Pose.from_axis_angle((0, 0, 0), turns[2]).rows, ())
    )


def words(text: str) -> list[str]:
    return text.split()


KINDS = words(
    """Robot Solid Transform Pose Group Emitter Receiver E-puck Shape HingeJoint SliderJoint
RotationalMotor DistanceSensor GPS Camera Box Cylinder WorldInfo HingeJointParameters"""
)
FIELDS = words(
    """children device endPoint boundingObject geometry jointParameters name controller
translation rotation scale channel range maxRange type allowedChannels lookupTable
controlPID maxVelocity position size radius height model basicTimeStep
gpsCoordinateSystem supervisor synchronization customData battery"""
)
NUMBERS = st.one_of(
    st.integers(-3, 40).map(str), st.sampled_from(["1e308", "-1e308", "1e-320", "nan", "-inf", "7"])
)
STRINGS = st.text(max_size=6).map(
    lambda each: '"' + each.replace("\\", "\\\\").replace('"', '\\"') + '"'
)
PLAIN = st.one_of(
    st.lists(NUMBERS, min_size=1, max_size=5).map(" ".join),
    st.lists(NUMBERS, max_size=5).map(lambda each: f"[ {' '.join(each)} ]"),
    STRINGS,
    st.sampled_from(["TRUE", "FALSE", "NULL", "IS it", '"<extern>"', '"infra-red"', "USE A"]),
)


def node_of(value: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    fields = st.dictionaries(st.sampled_from(FIELDS), value, max_size=5).map(
        lambda each: " ".join(f"{name} {text}" for name, text in each.items())
    )
    return st.tuples(st.sampled_from(["", "DEF A "]), st.sampled_from(KINDS), fields).map(
        lambda each: f"{each[0]}{each[1]} {{ {each[2]} }}"
    )


VALUES = st.recursive(
    PLAIN,
    lambda inner: st.one_of(
        node_of(inner), st.lists(node_of(inner), max_size=3).map(lambda each: f"[{' '.join(each)}]")
    ),
    max_leaves=12,
)


@given(st.lists(node_of(VALUES), max_size=4), st.sampled_from(["R2025a", "R2020a", "V8.0.0"]))
def test_whatever_a_world_holds_the_configuration_loads(nodes: list[str], version: str) -> None:
    body = "\n".join(nodes)
    try:
        parse(f"#VRML_SIM {version} utf8\n{body}".encode(), "w.wbt")
    except ConfigError:  # USE A inside of A
        return
    load_text(imported(body, version), "arena.yaml")
