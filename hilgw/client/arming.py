"""Arms and disarms robots of a running gateway, as `hilgw arm` and `hilgw disarm` do."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from hilgw.client.control_socket import find_gateway, request_of


def arm(
    *robots: str,
    control: str | None = None,
    config: str | None = None,
    on_note: Callable[[str, str], None] | None = None,
) -> list[str]:
    """Lets the motors of these robots move; without a name, of all. Returns their names.

    control: the path of the control socket; None: that of the only running gateway, or of the one
    that runs `config`. on_note: called with a robot and what keeps it from moving though it is
    armed, such as that no controller runs. HilgwError when a robot is unknown (then none is armed),
    PeerError when no gateway answers.
    """
    return _request("arm", robots, find_gateway(control, config), on_note)


def disarm(*robots: str, control: str | None = None, config: str | None = None) -> list[str]:
    """Stops these robots, or all; their motors do not move until `arm`. As `arm` otherwise."""
    return _request("disarm", robots, find_gateway(control, config))


def _request(
    word: str,
    robots: tuple[str, ...],
    path: Path,
    on_note: Callable[[str, str], None] | None = None,
) -> list[str]:
    chosen: dict[str, Any] = {"robots": list(robots)} if robots else {"all": True}
    answer = request_of(path, {"do": word, **chosen}, ", ".join(robots))
    if on_note is not None:
        for robot, text in answer.get("notes", {}).items():
            on_note(str(robot), str(text))
    return [str(robot) for robot in answer["robots"]]
