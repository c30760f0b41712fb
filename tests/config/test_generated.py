"""The generated documentation is what the code would generate now."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def generate(root: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(root / "tools" / "generate_docs"), *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_nothing_is_stale() -> None:
    done = generate(ROOT, "--check")
    assert done.stderr == ""
    assert done.stdout == "", "run tools/generate_docs"
    assert done.returncode == 0


def test_stale_pages_are_named_and_written(tmp_path: Path) -> None:
    for name in ("hilgw", "firmware_mocks", "tools", "docs", "configs"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    generate(tmp_path)
    page, config = tmp_path / "docs" / "adapters" / "xbee.md", tmp_path / "docs" / "config.md"
    wanted = page.read_text(encoding="utf-8"), config.read_text(encoding="utf-8")
    page.unlink()
    (page.parent / "gone.md").write_text("left over")
    config.write_text(re.sub("UART rate", "rate", wanted[1]), encoding="utf-8")
    stale = generate(tmp_path, "--check")
    assert stale.returncode == 1
    assert stale.stdout.splitlines() == [
        "stale: docs/adapters/xbee.md",
        "stale: docs/config.md",
        "stale: docs/adapters/gone.md",
    ]
    assert generate(tmp_path).returncode == 0
    assert (page.read_text(encoding="utf-8"), config.read_text(encoding="utf-8")) == wanted
    assert not (page.parent / "gone.md").exists()


def test_the_page_of_a_kind_names_every_setting_and_mapping() -> None:
    from hilgw.adapters.xbee import ADAPTER
    from hilgw.config.schema.describe import rows

    page = (ROOT / "docs" / "adapters" / "xbee.md").read_text(encoding="utf-8")
    assert all(f"`{row.key}`" in page for row in rows(ADAPTER.Settings))
    assert all(f"| {mapped.field} | {mapped.maps} |" in page for mapped in ADAPTER.limits.mapping)


def test_the_yaml_in_the_page_is_a_configuration() -> None:
    from hilgw.config.load import load_text

    page = (ROOT / "docs" / "config.md").read_text(encoding="utf-8")
    examples = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    assert len(examples) == 2
    for example in examples:
        assert load_text(example, "docs/config.md").warnings == []
