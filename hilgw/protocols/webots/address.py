"""Addresses that Webots and its controllers agree on.

They are the port, the local sockets of a robot, and the variables in the environment of a
controller.

Source: Webots user guide, "Running Extern Robot Controllers"; libController R2025a.
"""

import sys
from collections.abc import Mapping
from pathlib import Path

from hilgw.protocols.webots.handshake import encode_name

DEFAULT_PORT = 1234
INSTANCES = Path("/tmp/webots")
EXTERN = "extern"
NO_USER = "default"
URL = "WEBOTS_CONTROLLER_URL"
TOKEN = "HILGW_TOKEN"
MODULE_FOLDER = Path(__file__).parents[2] / "api" / "path"
"""Contains hilgw's module `controller`, for PYTHONPATH."""

_LIST_SEPARATOR = ";" if sys.platform == "win32" else ":"


def instances_of(environment: Mapping[str, str]) -> Path:
    """Return the folder of the simulators that one user runs; each simulator has a folder in it.

    The user is that of the environment, as in libController; a service or a container without one
    has the folder `default`.
    """
    return INSTANCES / (environment.get("USER") or environment.get("USERNAME") or NO_USER)


def socket_path(instance: Path, robot: str, end: str) -> Path:
    """Return the local socket of a robot.

    `end` is EXTERN, or "intern" for a controller that the simulator starts itself.
    """
    around = len(bytes(instance / "ipc" / end)) + 1
    return instance / "ipc" / encode_name(robot, around) / end


def program_environment(
    url: str | None,
    inherited: Mapping[str, str],
    token: str | None = None,
) -> dict[str, str]:
    """Return the environment of a program that connects to this address.

    Its module `controller` is that of hilgw.

    Args:
        url: The address; None: the simulator on this machine, as without hilgw.
        inherited: The environment of this process.
        token: For a gateway that asks for one; None: that of the inherited environment.
    """
    environment = dict(inherited)
    if url is not None:
        given = inherited.get(TOKEN) if token is None else token
        # These name a simulator that started this program, or its library.
        for name in ("WEBOTS_INSTANCE_PATH", "WEBOTS_ROBOT_NAME", URL, TOKEN):
            environment.pop(name, None)
        environment[URL] = url
        if given:
            environment[TOKEN] = given
    parts = (str(MODULE_FOLDER), inherited.get("PYTHONPATH", ""))
    environment["PYTHONPATH"] = _LIST_SEPARATOR.join(part for part in parts if part)
    return environment
