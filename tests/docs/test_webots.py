"""The commands and the files of docs/webots.md, as a reader runs them."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import hilgw
from hilgw.config.load import load_config, load_text

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "webots.md").read_text()
API = Path(hilgw.__file__).parent / "api" / "path"


def blocks(kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL)


def command(start: str) -> list[str]:
    """The words of the only command of the page that begins so, after `hilgw`."""
    [line] = re.findall(rf"^    hilgw ({start})$", PAGE, re.MULTILINE)
    return shlex.split(line)


@contextmanager
def running(words: list[str], folder: Path) -> Iterator[subprocess.Popen[str]]:
    program = [sys.executable, "-m", "hilgw", *words]
    process = subprocess.Popen(program, cwd=folder, stdout=subprocess.PIPE, text=True)
    try:
        yield process
    finally:
        process.terminate()
        process.communicate()


def wait_for(process: subprocess.Popen[str], pattern: str) -> str:
    """The first group in the first line of output that matches."""
    assert process.stdout is not None
    for line in process.stdout:
        if match := re.search(pattern, line):
            return match[1]
    raise AssertionError(f"the program ended without {pattern!r}")


def test_from_a_world_to_a_packet_on_an_xbee(tmp_path: Path) -> None:
    (tmp_path / "lab.yaml").write_text(blocks("yaml")[0].replace(":1234", ":0"))
    (tmp_path / "brain.py").write_text(blocks("python")[0])
    [line] = re.findall(r"^    (WEBOTS_CONTROLLER_URL=tcp:\S+) python3 brain.py$", PAGE, re.M)
    with running(command("mock xbee.*"), tmp_path) as mock:
        wait_for(mock, "(lab-xbee)")
        with running(command("--config lab.yaml"), tmp_path) as gateway:
            port = wait_for(gateway, r"rover.controller waiting: listening on 127.0.0.1:(\d+)")
            wait_for(gateway, "xbee0 +(up)")
            assert run_brain(tmp_path, line.replace(":1234", f":{port}")) == "b'pong 1'\n"


def run_brain(folder: Path, address: str) -> str:
    """What brain.py prints. address: NAME=VALUE of the environment."""
    name, url = address.split("=", 1)
    brain = subprocess.run(
        [sys.executable, "brain.py"],
        cwd=folder,
        env={**os.environ, name: url, "PYTHONPATH": str(API)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert brain.returncode == 0, brain.stderr
    return brain.stdout


def test_ones_own_controller_meets_a_mocked_xbee(tmp_path: Path) -> None:
    (tmp_path / "brain.py").write_text(blocks("python")[0])
    words = command("--config configs/\\S+ --set .*")
    words += ["--set", "robots.rover.controller.listen=tcp://127.0.0.1:0"]
    with running(words, ROOT) as gateway:
        port = wait_for(gateway, r"rover.controller waiting: listening on 127.0.0.1:(\d+)")
        wait_for(gateway, "xbee0 +(up)")
        address = f"WEBOTS_CONTROLLER_URL=tcp://127.0.0.1:{port}/rover"
        assert run_brain(tmp_path, address) == "b'pong 1'\n"


def test_the_shipped_configuration_and_the_settings_of_access_are_valid() -> None:
    load_config(command("--config configs/\\S+")[1])
    text = blocks("yaml")[0].replace("127.0.0.1", "0.0.0.0") + blocks("yaml")[1]
    load_text(text, "lab.yaml")


def test_the_page_names_what_check_refuses() -> None:
    from hilgw.devices.properties import FIELDS, NOT_CARRIED

    rows = re.findall(r"^\| (\w+(?:, \w+)*) \| (.*) \|$", PAGE, re.MULTILINE)
    named = {name: text for names, text in rows for name in names.split(", ")}
    assert FIELDS.keys() <= named.keys()
    assert {name for name in named if named[name].startswith("no: `hilgw")} <= NOT_CARRIED.keys()
