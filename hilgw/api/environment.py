"""The environment of a program whose `controller` module is that of this package."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

CONTROL = "HILGW_CONTROL"
FOLDER = Path(__file__).parent / "path"
# They name a simulator that started this program, or its library.
_OTHERS = ("WEBOTS_INSTANCE_PATH", "WEBOTS_ROBOT_NAME", "WEBOTS_CONTROLLER_URL", "HILGW_TOKEN")


def environment(
    url: str | None,
    inherited: Mapping[str, str],
    token: str | None = None,
    control: str | None = None,
) -> dict[str, str]:
    """Of a program that connects to this address with Webots' API of this package. url None: the
    simulator on this machine, as without hilgw. token: for a gateway that asks for one; None: that
    of the inherited environment. control: the control socket of the gateway; None: the same."""
    found = dict(inherited)
    if url is not None:
        given = inherited.get("HILGW_TOKEN") if token is None else token
        for name in _OTHERS:
            found.pop(name, None)
        found["WEBOTS_CONTROLLER_URL"] = url
        if given:
            found["HILGW_TOKEN"] = given
    if control is not None:
        found[CONTROL] = control
    parts = (str(FOLDER), inherited.get("PYTHONPATH", ""))
    found["PYTHONPATH"] = os.pathsep.join(part for part in parts if part)
    return found
