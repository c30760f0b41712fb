"""docs/two-xbees.md: its commands, on the mocks that it makes."""

import re
import shlex
from pathlib import Path

import pytest

from hilgw.config.load import load_text
from hilgw.testing.sim import wait_until
from tests.e2e.running import ROOT, Gateway, run

PAGE = (ROOT / "docs" / "two-xbees.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"```yaml file=(\S+)\n(.*?)```", PAGE, re.S))
COMMANDS = [shlex.split(line) for line in re.findall(r"^    hilgw (.*)$", PAGE, re.M)]


@pytest.mark.process
def test_both_gateways_receive_the_other(tmp_path: Path) -> None:
    mock, rover, base, send = COMMANDS
    with Gateway(tmp_path, mock) as air:
        wait_until(lambda: "xbee-b" in air.text(), what="the mocks")
        rover_folder, base_folder = (folder(tmp_path, name) for name in ("rover", "base"))
        with Gateway(base_folder, base) as station, Gateway(rover_folder, rover) as robot:
            (example,) = re.findall(r"```text\n(.*?)```", PAGE, re.S)
            _, *words = example.replace("ping 3", "ping N").split()
            shown = re.compile(r" +".join(map(re.escape, words)).replace("N", r"\d+"))
            wait_until(lambda: shown.search(station.text()) is not None, what=example)
            assert run(*send, cwd=base_folder).returncode == 0
            there = re.compile(r'xbee_a +ch 12 +"turn left" 9 B .* -> rover.rx')
            wait_until(lambda: there.search(robot.text()) is not None, what="turn left")


def folder(parent: Path, name: str) -> Path:
    """Each gateway has a folder of its own, with its file."""
    made = parent / name
    made.mkdir()
    text = FILES[f"{name}.yaml"].replace("port: ./", f"port: {parent}/")
    (made / f"{name}.yaml").write_text(text)
    return made


@pytest.mark.parametrize("text", re.findall(r"`(destination: .*?|mapping: .*?)`", PAGE))
def test_the_settings_of_its_table_are_accepted(text: str) -> None:
    rover = FILES["rover.yaml"].replace("pan_id: 0x3332}", f"pan_id: 0x3332, {text}}}")
    load_text(rover, "rover.yaml")
    assert text in rover
