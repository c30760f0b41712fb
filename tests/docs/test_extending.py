"""The page of the interface for other distributions names it as it is."""

import importlib
import re
from pathlib import Path

import pytest

from hilgw import plugins

PAGE = (Path(__file__).parents[2] / "docs/extending.md").read_text(encoding="utf-8")
OPEN = [plugins.ADAPTERS, plugins.BODIES, plugins.CONTROLLERS, plugins.MOCKS, plugins.COMMANDS]


@pytest.mark.parametrize("group", OPEN, ids=lambda group: group.name)
def test_each_group_is_in_the_table(group: plugins.Group) -> None:
    row = next(line for line in PAGE.splitlines() if f"| `{group.name}` |" in line)
    exports = {plugins.MOCKS.name: "create", plugins.COMMANDS.name: "COMMANDS"}
    assert f"`{group.export or exports[group.name]}`" in row
    modules = re.findall(r"`((?:hilgw|firmware_mocks)\.\w+\.?(?:base|robot|declaration)?)`", row)
    interface = [name for name in modules if name.endswith(("base", "robot", "declaration"))]
    assert interface
    for name in interface:
        importlib.import_module(name)
