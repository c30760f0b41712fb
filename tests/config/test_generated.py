"""The generated documentation is what the code would generate now."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from hilgw import plugins
from hilgw.cli.parser import parse
from hilgw.engine.mock_host import create_mock
from tests.e2e.running import ROOT, copy_checkout


def generate(root: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(root / "tools" / "generate_docs"), *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.process
def test_the_stale_pages_alone_are_named_and_written(tmp_path: Path) -> None:
    copy_checkout(tmp_path, "hilgw", "firmware_mocks", "tools", "docs", "configs")
    page = tmp_path / "docs" / "adapters" / "xbee.md"
    config = tmp_path / "docs" / "config" / "adapters.md"
    wanted = page.read_text(encoding="utf-8"), config.read_text(encoding="utf-8")
    page.unlink()
    (page.parent / "gone.md").write_text("left over")
    config.write_text(re.sub("UART rate", "rate", wanted[1]), encoding="utf-8")
    stale = generate(tmp_path, "--check")
    assert (stale.returncode, stale.stderr) == (1, "")
    assert stale.stdout.splitlines() == [
        "stale: docs/adapters/xbee.md",
        "stale: docs/config/adapters.md",
        "stale: docs/adapters/gone.md",
    ], "run tools/generate_docs"
    assert generate(tmp_path).returncode == 0
    assert (page.read_text(encoding="utf-8"), config.read_text(encoding="utf-8")) == wanted
    assert not (page.parent / "gone.md").exists()


def test_each_mock_has_an_example_before_its_table() -> None:
    page = (ROOT / "docs" / "config" / "mocks.md").read_text(encoding="utf-8")
    sections = re.findall(r"## `mock: (\w+)`\n(.*?)\n\| parameter", page, re.DOTALL)
    assert [name for name, _ in sections] == plugins.names(plugins.MOCKS)
    for name, text in sections:
        (command,) = re.findall(r"^    hilgw (mock .*)$", text, re.MULTILINE)
        args = parse(shlex.split(command))
        assert args.kind.replace("-", "_") == name
        given: dict[str, dict[str, str]] = {}
        for setting in args.settings:
            key, value = setting.split("=", 1)
            module, _, key = key.rpartition(".")
            given.setdefault(module or "0", {})[key] = value
        for module, parameters in given.items():
            create_mock(name, module, plugins.new_air(), parameters, (0.0, 0.0, 0.0))
