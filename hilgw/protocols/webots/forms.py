"""The form of every message on the wire: by kind of device and command number.

Of libController's messages.h and the read and write functions of its devices, R2023b to R2025a;
R2023a differs in the configuration of the robot alone.
"""

import struct
from typing import Any, NamedTuple

from hilgw.protocols.webots import device_messages as device, robot_messages as robot
from hilgw.protocols.webots.wire import (
    BYTE,
    CHANNELS,
    DATA,
    DOUBLE,
    FLAG,
    INT,
    INTS,
    KEYS,
    LONG_TEXT,
    QUATERNION,
    ROWS,
    SHORT,
    SHORT_TEXT,
    SIGNED_SHORT,
    TAGS,
    TEXT,
    UINT,
    VECTOR,
    Field,
    Vector,
)

ROBOT = "Robot"
ROBOT_TAG = 0
CONFIGURE = 0


class Form(NamedTuple):
    """The form of a message.

    message: the class, called with the tag (not of the robot) and the values of the fields.
    """

    message: type[Any]
    fields: tuple[Field, ...] = ()


Forms = dict[int, Form]

_ASSOCIATED = Form(device.AssociatedDevice, (SHORT,))
_GET_ASSOCIATED = Form(device.GetAssociatedDevice, (SHORT,))
_VALUE = Form(device.ValueMessage, (DOUBLE,))
_VALUES = Form(device.Values, (VECTOR,))
_TABLE = Form(device.TableConfiguration, (ROWS,))
_JOINT = Form(device.JointConfiguration, (INT,))
_SAMPLING = {1: Form(device.SetSamplingPeriod, (SHORT,))}
_MOTOR_MESSAGES = {
    CONFIGURE: Form(device.MotorConfiguration, (INT, *(DOUBLE,) * 11, TAGS)),
    5: _VALUE,
    8: _ASSOCIATED,
}
_MOTOR_COMMANDS = {
    1: Form(device.SetPosition, (DOUBLE,)),
    2: Form(device.SetVelocity, (DOUBLE,)),
    3: Form(device.SetAvailableForce, (DOUBLE,)),
    4: Form(device.SetForce, (DOUBLE,)),
    5: Form(device.SetFeedbackPeriod, (SHORT,)),
    6: Form(device.SetAcceleration, (DOUBLE,)),
    7: Form(device.SetControlPid, (DOUBLE, DOUBLE, DOUBLE)),
    8: _GET_ASSOCIATED,
}

MESSAGES: dict[str, Forms] = {
    ROBOT: {
        # CONFIGURE, 3 (joystick) and 15 (new devices) are in `configuration`
        2: Form(robot.Quit),
        4: Form(robot.Time, (DOUBLE,)),
        5: Form(robot.Battery, (DOUBLE,)),
        6: Form(robot.KeyboardKeys, (KEYS,)),
        7: Form(robot.JoystickState, (INTS, INTS, INTS)),
        8: Form(robot.MouseState, (FLAG, FLAG, FLAG, Vector(struct.Struct("<2d")), VECTOR)),
        9: Form(robot.WindowShow),
        10: Form(robot.SimulationMode, (INT,)),
        11: Form(robot.CustomData, (TEXT,)),
        12: Form(robot.SupervisorFlag, (FLAG,)),
        13: Form(robot.Model, (TEXT,)),
        14: Form(robot.WindowUpdate),
        46: Form(robot.Urdf, (TEXT,)),
        80: Form(robot.UserInputEvent, (INT,)),
        81: Form(robot.WwiMessage, (DATA,)),
    },
    "Emitter": {
        CONFIGURE: Form(device.EmitterConfiguration, (INT, INT, DOUBLE, DOUBLE, DOUBLE, CHANNELS)),
        1: Form(device.SetChannel, (INT,)),
        2: Form(device.SetRange, (DOUBLE,)),
        3: Form(device.SetBufferSize, (INT,)),
        4: Form(device.SetAllowedChannels, (CHANNELS,)),
    },
    "Receiver": {
        CONFIGURE: Form(device.ReceiverConfiguration, (INT, INT, CHANNELS)),
        1: Form(device.Receive, (INT, VECTOR, DOUBLE, DATA)),
    },
    "RotationalMotor": _MOTOR_MESSAGES,
    "LinearMotor": _MOTOR_MESSAGES,
    "DistanceSensor": {
        CONFIGURE: Form(device.DistanceSensorConfiguration, (INT, DOUBLE, DOUBLE, DOUBLE, ROWS)),
        50: _VALUE,
    },
    "PositionSensor": {CONFIGURE: _JOINT, 1: _VALUE, 2: _ASSOCIATED},
    "LED": {},
    "LightSensor": {CONFIGURE: _TABLE, 55: _VALUE},
    "Accelerometer": {CONFIGURE: _TABLE, 51: _VALUES},
    "Gyro": {CONFIGURE: _TABLE, 53: _VALUES},
    "Compass": {CONFIGURE: _TABLE, 52: _VALUES},
    "GPS": {
        CONFIGURE: Form(device.GpsConfiguration, (INT,)),
        2: Form(device.GpsValues, (VECTOR, DOUBLE, VECTOR)),
    },
    "InertialUnit": {
        CONFIGURE: Form(device.InertialUnitConfiguration, (DOUBLE, TEXT)),
        54: Form(device.Quaternion, (QUATERNION,)),
    },
    "TouchSensor": {
        CONFIGURE: Form(device.TouchSensorConfiguration, (INT, ROWS)),
        40: _VALUE,
        41: _VALUES,
    },
    "Brake": {CONFIGURE: _JOINT, 4: _ASSOCIATED},
    "Camera": {
        CONFIGURE: Form(
            device.CameraConfiguration,
            (UINT, SHORT, SHORT, DOUBLE, DOUBLE, FLAG, DOUBLE, DOUBLE, FLAG, FLAG, *(DOUBLE,) * 5),
        ),
        8: Form(device.ImageFile, (INT, TEXT)),
    },
}
"""From the simulator, after u16 tag and u8 command."""

COMMANDS: dict[str, Forms] = {
    ROBOT: {
        30: Form(robot.ConsoleMessage, (BYTE, LONG_TEXT)),
        31: Form(robot.BatterySamplingPeriod, (SHORT,)),
        32: Form(robot.RemoteOn),
        33: Form(robot.RemoteOff),
        34: Form(robot.KeyboardSamplingPeriod, (SHORT,)),
        35: Form(robot.JoystickSamplingPeriod, (SHORT,)),
        36: Form(robot.MouseSamplingPeriod, (SHORT,)),
        37: Form(robot.SetCustomData, (SHORT_TEXT,)),
        38: Form(robot.ClientExitNotify),
        39: Form(robot.MouseEnable3dPosition, (FLAG,)),
        40: Form(robot.Pin, (FLAG,)),
        41: Form(robot.JoystickForceFeedback, (SIGNED_SHORT,)),
        42: Form(robot.JoystickForceFeedbackDuration, (DOUBLE,)),
        43: Form(robot.JoystickAutoCenteringGain, (DOUBLE,)),
        44: Form(robot.JoystickResistanceGain, (DOUBLE,)),
        45: Form(robot.JoystickForceAxis, (UINT,)),
        46: Form(robot.GetUrdf, (SHORT_TEXT,)),
        80: Form(robot.WaitForUserInput, (INT, INT)),
        81: Form(robot.WwiMessage, (DATA,)),
    },
    "Emitter": {
        0: Form(device.EmitterSend, (INT, DOUBLE, DATA)),
        1: Form(device.SetChannel, (INT,)),
        2: Form(device.SetRange, (DOUBLE,)),
    },
    "Receiver": _SAMPLING | {2: Form(device.SetChannel, (INT,))},
    "RotationalMotor": _MOTOR_COMMANDS,
    "LinearMotor": _MOTOR_COMMANDS,
    "DistanceSensor": _SAMPLING,
    "PositionSensor": _SAMPLING | {2: _GET_ASSOCIATED},
    "LED": {1: Form(device.SetLed, (INT,))},
    "LightSensor": _SAMPLING,
    "Accelerometer": _SAMPLING,
    "Gyro": _SAMPLING,
    "Compass": _SAMPLING,
    "GPS": _SAMPLING,
    "InertialUnit": _SAMPLING,
    "TouchSensor": _SAMPLING,
    "Camera": _SAMPLING
    | {
        4: Form(device.SetFieldOfView, (DOUBLE,)),
        5: Form(device.SetFocalDistance, (DOUBLE,)),
        6: Form(device.SetExposure, (DOUBLE,)),
    },
    "Brake": {},  # a set of bits, in `codec`
}
"""From the controller, in the block of the device: after u8 command, of motors u16."""

KINDS = frozenset(MESSAGES)
"""The kinds of nodes whose messages this package decodes."""
