"""docs/firmware.md: its sketch, configurations, commands and tables are those of the library."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.docs.reading import pages
from tests.e2e.running import ROOT
from tests.firmware.node import FRAMINGS, SOURCES

PAGE = pages("firmware")


def blocks(kind: str) -> list[str]:
    return re.findall(rf"```{kind}\n(.*?)```", PAGE, re.DOTALL)


def test_the_sketch_is_the_example() -> None:
    sketch = (SOURCES / "examples" / "Ping" / "Ping.ino").read_text()
    assert sketch.endswith(blocks("cpp")[0])
    (loop,) = blocks("c")
    assert (
        loop.splitlines()[0].strip()
        in (SOURCES / "examples" / "firmware" / "wall_follower.c").read_text()
    )


def test_the_table_of_framings() -> None:
    rows = re.findall(r"^\| (`.+?) \| (`hilgw.+?) \| ([\d, ]+) \|$", PAGE, re.MULTILINE)
    listed = {
        name.strip("` "): (symbol.strip("` "), int(spare))
        for row in rows
        for name, symbol, spare in zip(*(each.split(",") for each in row), strict=True)
    }
    assert listed == {name: each for name, each in FRAMINGS.items() if name != "wc2ec"}


@pytest.mark.process
@pytest.mark.judge("avr-gcc")
@pytest.mark.judge("arm-none-eabi-gcc")
@pytest.mark.judge("make")
def test_the_examples_compile_as_shown(tmp_path: Path) -> None:
    target = tmp_path / "tools" / "firmware" / "hilgw_node"
    shutil.copytree(SOURCES, target, ignore=shutil.ignore_patterns("build"))
    text = blocks("sh")[0]
    subprocess.run(["sh", "-euc", text], cwd=tmp_path, check=True, capture_output=True)
    built = {path.name for path in (target / "build").iterdir()}
    assert {"ping.uno.elf", "motor_node.netduinoplus2.elf"} <= built
    assert (ROOT / "configs" / "firmware-emulated.yaml").is_file()
