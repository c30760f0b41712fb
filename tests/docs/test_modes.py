"""The commands and the file of docs/modes.md do what the page describes."""

import json
import re
from pathlib import Path

import pytest

from hilgw import client
from tests.e2e.running import Gateway, patient, run, wait_until

pytestmark = pytest.mark.process

PAGE = (Path(__file__).parents[2] / "docs" / "modes.md").read_text()


def answer(command: str, cwd: Path) -> str:
    """Return what the command prints, once the remote robot has registered all its devices: hilgw
    may have opened its line amid the first registration, and gets the rest a second later."""
    texts: list[str] = []

    def is_registered() -> bool:
        done = run(*command.split(), "--control", "control", cwd=cwd)
        texts.append(done.stdout + done.stderr)
        return "the remote body registers its devices" not in texts[-1]

    wait_until(is_registered, what=command)
    return texts[-1]


def test_the_commands_of_the_page(tmp_path: Path) -> None:
    commands = re.findall(r"^    hilgw (mode [^#\n]*\S)", PAGE, re.MULTILINE)
    assert len(commands) == 3
    assert "`hilgw --config shadow`" in PAGE
    options = ["--config", "shadow", "--report", "report.json", "--control", "control"]
    # On a busy machine, which is late, the robots would have stopped, or been lost, before.
    more = patient("rover", "remote.silence_s")
    options += ["--status", "full", *more]
    with Gateway(tmp_path, options) as gateway:
        wait_until(lambda: "ready" in gateway.text())
        wait_until(
            lambda: re.search(
                r"shadow \| .* \| shadow\s+\w+\s+offset", " ".join(gateway.text().split())
            )
        )
        asked = client.Gateway(tmp_path / "control")
        wait_until(lambda: asked.report()["control_loops"]["rover"]["commands_out"], what="motion")
        answers = [answer(each, tmp_path) for each in commands]
        gateway.stop()
        text = gateway.text()
    up = {"body": "up", "remote": "up"}
    assert answers == [
        "rover: shadow (body up, remote up)\n",
        "rover: remote (body up, remote up)\n",
        json.dumps({"robot": "rover", "mode": "simulation", "bodies": up}) + "\n",
    ], text
    report = json.loads((tmp_path / "report.json").read_text())["control_loops"]["rover"]
    stops = report["bodies"]["body"]["stops"]  # of the robot that was left, unless it stood already
    assert stops.get("exchanged") == 1 or sum(stops.values()) > 1, (stops, text)
