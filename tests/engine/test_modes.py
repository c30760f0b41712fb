"""A gateway whose robot has two bodies: which of them it needs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.golden.running import run_config

SHADOW = Path(__file__).parents[2] / "configs" / "shadow.yaml"
REMOTE, BODY = "rover.remote", "rover"


def ran(tmp_path: Path, mode: str, unplugged: str) -> str:
    """The shipped configuration in this mode, while a mock is not there."""
    config = tmp_path / "c.yaml"
    config.write_text(SHADOW.read_text().replace("mode: shadow", f"mode: {mode}"))
    return run_config(str(config), 1.0, [(0.0, {"unplug": unplugged})])


@pytest.mark.parametrize(("mode", "is_needed"), [("simulation", False), ("shadow", True)])
def test_a_body_that_the_controller_does_not_have_may_be_away(
    tmp_path: Path, mode: str, is_needed: bool
) -> None:
    text = ran(tmp_path, mode, REMOTE)
    assert ("\nready\n" in text) is not is_needed
    assert ("=== ended: in time" in text) is not is_needed


def test_a_remote_body_that_the_controller_has_is_needed(tmp_path: Path) -> None:
    text = ran(tmp_path, "remote", REMOTE)
    assert "\nready\n" not in text and "=== ended: in time" not in text
