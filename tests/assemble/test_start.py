"""A process imports what its configuration needs, and no module of parts that it does not have."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
RUN = """
import runpy, sys
sys.argv = ["hilgw", "--config", "configs/{config}.yaml", "--duration", "0.1s", "--quiet"]
try:
    runpy.run_module("hilgw", run_name="__main__")
finally:
    print(*sys.modules, file=sys.stderr)
"""
# What asyncio imports by itself, as ssl, costs nothing more.
NOT_FOR_STATIONS = re.compile(
    r"webots|proxy|\.tls|security|control_loop\.loop|tcp\.stream|xml|zenoh|federation\."
)
NOT_FOR_BODIES_ON_LINES = re.compile(r"hilgw\..*(webots|proxy)|security|zenoh|federation\.")


@pytest.mark.process
@pytest.mark.parametrize(
    ("config", "unused"), [("uart", NOT_FOR_STATIONS), ("wc2ec-serial", NOT_FOR_BODIES_ON_LINES)]
)
def test_a_start_imports_no_module_of_parts_that_the_configuration_does_not_have(
    config: str, unused: re.Pattern[str]
) -> None:
    command = [sys.executable, "-c", RUN.format(config=config)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60)
    modules = run.stderr.split()
    assert "hilgw.assemble.gateway" in modules
    assert [name for name in modules if unused.search(name)] == []
