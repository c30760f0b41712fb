"""The generated documentation is what the code would generate now."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.running import copy_checkout


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
