"""hilgw accepts the examples of docs/semantics.md."""

import re
from pathlib import Path

import pytest

from hilgw.medium.mocap import decode
from hilgw.medium.pose import Pose
from tests.docs.reading import pages
from tests.e2e.running import run

PAGE = pages("semantics", "emitter-receiver", "medium", "poses")


@pytest.mark.process
def test_the_page_begins_with_an_example_and_its_output(tmp_path: Path) -> None:
    assert PAGE.index("## An example") < PAGE.index("| case |")
    file = tmp_path / "example.yaml"
    file.write_text(re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)[0])
    command = re.search(r"`hilgw --config FILE (.*?)` prints\n\n```\n(.*?)```", PAGE, re.DOTALL)
    assert command
    done = run("--config", str(file), *command[1].split(), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("ready\n")[1].split("summary")[0] == command[2]
    lines = [line.split()[:2] for line in command[2].splitlines()]
    assert lines[:2] == [["0.032", "rover.tx"], ["0.064", "truck.rx"]]


def test_the_datagram_it_shows() -> None:
    (shown,) = re.findall(r'^    (\{"rover".*\})$', PAGE, re.MULTILINE)
    assert decode(shown.encode()) == {"rover": Pose((1.0, 2.0, 0.0)), "wall": None}
