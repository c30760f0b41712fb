"""`hilgw doctor ROBOT` at a terminal, with a robot outside its gateway that a person watches."""

from __future__ import annotations

import json
import os
import re
import signal
import termios
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from hilgw.testing.fixtures.ports import PortControl
from hilgw.testing.sim import DEADLINE_S, wait_until
from tests.e2e.running import COMMAND, start

STARTS = "any key stops it"


class Terminal:
    """The command at a terminal of its own, which is its controlling one."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        self._keys, inside = os.openpty()
        # A session leader gets the first terminal that it opens.
        shell = ["sh", "-c", 'exec "$@" <>"$0" >&0 2>&0', os.ttyname(inside)]
        self._process = start(folder, *shell, *COMMAND, *arguments, start_new_session=True)
        self.inside, self.before = inside, termios.tcgetattr(inside)
        self._seen = 0
        self._text = ""
        os.set_blocking(self._keys, False)

    def text(self) -> str:
        with suppress(BlockingIOError):
            self._text += os.read(self._keys, 65536).decode().replace("\r\n", "\n")
        return self._text

    def see(self, words: str) -> str:
        """Waits for words behind those that were seen; returns what is before them."""
        try:
            wait_until(lambda: words in self.text()[self._seen :])
        except AssertionError:
            raise AssertionError(f"no {words!r} in {self._text[self._seen :]!r}") from None
        before, _, _ = self._text[self._seen :].partition(words)
        self._seen += len(before) + len(words)
        return before

    def type(self, keys: str) -> None:
        os.write(self._keys, keys.encode())

    def signal(self, number: int) -> None:
        self._process.send_signal(number)

    def has_a_frozen_child(self) -> bool:
        """Whether the gateway of the check, its only child, is stopped."""
        pid = self._process.pid
        child = Path(f"/proc/{pid}/task/{pid}/children").read_text().strip()
        return "\nState:\tT" in Path(f"/proc/{child}/status").read_text()

    def end(self) -> int:
        """The exit code; the terminal is as it was."""
        code = self._process.wait(DEADLINE_S)
        assert termios.tcgetattr(self.inside) == self.before
        return code

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()  # where the test has failed; its gateway ends with it
        self._process.wait(DEADLINE_S)
        os.close(self.inside)
        os.close(self._keys)


def report_in(folder: Path) -> tuple[str, dict[str, Any]]:
    people, _, block = (folder / "report.md").read_text().partition("```json\n")
    results = json.loads(block.removesuffix("```\n"))["results"]
    return people, {result["step"]: result for result in results}


def call(port: Path) -> list[str]:
    words = "doctor --config create2 create --wheels-up --report report.md --backend real --set"
    return [*words.split(), f"robots.create.body.port={port}"]


def stands(mock: Any) -> bool:
    return mock.describe().endswith("wheels at 0 and 0 mm/s")


def turns(mock: Any) -> bool:
    return not stands(mock)


def test_the_first_check_of_a_create_2(tmp_path: Path, firmware_mock: Callable[..., Any]) -> None:
    port = tmp_path / "robot"
    robot = firmware_mock("create2", link=str(port))
    more = ("--set", "robots.create.safety.late_s=20", "--set", "robots.create.body.silence_s=20")
    with Terminal(tmp_path, *call(port), *more) as terminal:

        def answer(step: str, start: str = "\n") -> None:
            """A motion that is skipped, or begins."""
            assert f"\n{step}\n" in terminal.see(STARTS)
            assert stands(robot)
            terminal.type(start)

        # One direction as it should be, one that a key stops.
        answer("right wheel motor, positive")
        robot.wait_for(turns)
        sensed = re.search(
            r"sensor: before (.*), then (.*), then (.*)\n", terminal.see("(y/n/s: skip)")
        )
        assert sensed is not None and float(sensed[1]) == 0 and float(sensed[3]) > 0.2
        terminal.type("y")
        answer("right wheel motor, negative")
        robot.wait_for(turns)
        terminal.type(" ")
        robot.wait_for(stands)
        terminal.see("(y/n/s: skip)")
        terminal.type("n")
        answer("left wheel motor, positive", "s")
        answer("left wheel motor, negative", "s")
        answer("stop", "s")
        # The guardian stops the robot while its gateway is frozen.
        answer("freeze")
        robot.wait_for(turns)
        wait_until(terminal.has_a_frozen_child)
        terminal.signal(signal.SIGSTOP)  # the check wakes its gateway when this test has looked
        robot.wait_for(stands)
        assert terminal.has_a_frozen_child()
        terminal.signal(signal.SIGCONT)
        terminal.see("(y/n/s: skip)")
        robot.wait_for(stands)
        terminal.type("y")
        terminal.see("\nfreeze: passed\n")
        # The cable.
        answer("unplug")
        terminal.see("pull the cable now")
        robot.wait_for(turns)
        PortControl.unplug(robot)  # the robot has its battery, and drives on
        terminal.see(f"{port} DOWN: ")
        terminal.see("stop by itself?")
        terminal.type("n")
        terminal.see("plug the cable in")
        robot.wait_for(turns)
        PortControl.plug(robot)
        terminal.see("(y/n/s: skip)")
        robot.wait_for(stands)
        terminal.type("y")
        terminal.see("test report: report.md")
        assert terminal.end() == 1  # not all steps passed
    people, results = report_in(tmp_path)
    assert "* body: create2\n" in people and f"* port: {port}\n" in people
    verdicts = {step: result["verdict"] for step, result in results.items()}
    assert list(verdicts.values()) == ["passed", "failed", *["skipped"] * 3, "passed", "passed"]
    assert results["right wheel motor, positive"]["measured"]["stop confirmed, ms"] > 0
    assert "it drives on without the cable" in results["unplug"]["notes"]


def test_ctrl_c_stops_the_robot_and_leaves_the_terminal_as_it_was(
    tmp_path: Path, firmware_mock: Callable[..., Any]
) -> None:
    port = tmp_path / "robot"
    robot = firmware_mock("create2", link=str(port))
    with Terminal(tmp_path, *call(port)) as terminal:
        for _ in range(6):
            terminal.see(STARTS)
            terminal.type("s")
        terminal.see(STARTS)
        terminal.type("\n")
        terminal.see("pull the cable now")
        robot.wait_for(turns)
        terminal.type("\x03")
        terminal.see("test report: report.md")
        robot.wait_for(stands)
        assert terminal.end() == 130
    assert "* end: it was ended early\n" in report_in(tmp_path)[0]
    assert not list((tmp_path / "run").rglob("*.sock"))  # its gateway has ended
