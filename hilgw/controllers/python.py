"""Controller `python`: a Python program that hilgw starts, connected as a Webots controller."""

import sys
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, ClassVar, Literal

from hilgw.control.parts import HasBattery, RunsProgram
from hilgw.controllers.base import Role
from hilgw.controllers.webots import WebotsController
from hilgw.controllers.webots.settings import WebotsControllerSettings
from hilgw.protocols.webots.codec import NEWEST
from hilgw.settings import Problem, setting


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonControllerSettings(HasBattery, RunsProgram):
    """The program, and what it learns about its robot."""

    restart: Literal["never", "on-failure", "with-body"] = setting(
        "when it starts again; with-body: when hilgw has ended it because its body was lost, once "
        "the body is up, or because hilgw was late, but never on a real body with `latch: false`; "
        "on-failure: also when it ends by itself with another exit code than 0",
        "with-body",
    )
    synchronization: bool = setting(
        "what the program reads as Robot.synchronization; true: step() returns 0; false: the delay "
        "of the program",
        True,
    )
    model: str = setting("model of the robot, for the program", "")
    customData: str = setting("custom data of the robot, for the program", "")


class PythonController(WebotsController):
    """The kind of controller `python`. Its listener is the gateway's own."""

    kind: ClassVar[str] = "python"
    role: ClassVar[Role] = Role.PROGRAM
    summary: ClassVar[str] = "a Python program with Webots' API, started by hilgw"
    Settings: ClassVar[type[PythonControllerSettings]] = PythonControllerSettings

    def check(self, settings: PythonControllerSettings | WebotsControllerSettings) -> list[Problem]:
        return self.data_problems(settings)

    def library(self, settings: Any, version: str) -> str:
        """Return the library of hilgw, whatever version other parts of the file have."""
        return NEWEST

    def controller_name(self, settings: Any) -> str:
        """Return the field `controller` of the program: its name without the suffix."""
        return PurePath(settings.file).stem

    def command(self, settings: PythonControllerSettings) -> list[str]:
        """Return the command: Python without a buffer, so that its output is shown at once."""
        return [sys.executable, "-u", settings.file, *settings.args]


CONTROLLER = PythonController()
