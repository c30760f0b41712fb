"""Kinds are found by name; another distribution's by its entry point."""

import importlib
import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hilgw import plugins
from hilgw.config.load import load_text
from hilgw.config.schema import file as shape
from hilgw.controllers.base import Role
from hilgw.errors import ConfigError
from tests.config.cases import Lines, install
from tests.e2e.running import in_process

THIRD_PARTY = '''
from dataclasses import dataclass
from typing import ClassVar

from hilgw.adapters.base import Limits
from hilgw.settings import setting


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Of a third party."""

    power_dbm: int = setting("power", ge=0, le=20, unit="dBm")
    follow: str = setting("a robot", "", refers="robot")


class Foo:
    kind: ClassVar[str] = "foo"
    type: ClassVar[str] = "radio"
    summary: ClassVar[str] = "somebody's radio"
    Settings: ClassVar[type] = Settings
    limits: ClassVar[Limits] = Limits(payload=10, window=1, channels="1", rates=(9600,))

    def check(self, settings, common):
        if settings.power_dbm > common.channel:
            yield "power_dbm", "is more than channel", "lower it"


class Plain(Foo):
    Settings = int


@dataclass
class OddSettings:
    """Of a type no configuration can have."""

    what: "Unheard" = None


class Odd(Foo):
    Settings = OddSettings


ADAPTER = Foo()
'''

UNDECLARED = '''
from dataclasses import dataclass

from hilgw.bodies.base import Body
from hilgw.controllers.base import PeerController, Role


@dataclass(frozen=True)
class Settings:
    """Of a third party."""


class Silent:
    summary = "declares nothing"
    Settings = Settings


class Written(Silent):
    role = Role.PROXY


class Robot(Silent, Body):
    """Inherits what it is."""


class Peer(Silent, PeerController):
    """Inherits what it is."""
'''

BROKEN = {
    "broken": "ModuleNotFoundError",
    "nothing": "AttributeError",
    "half": "AttributeError",
    "no_settings": "Settings is not a dataclass",
    "leaves": "SystemExit",
    "odd": "the settings of kind 'odd' cannot be read: NameError",
}


@pytest.fixture
def third_party(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A distribution as pip would have put it: a module and its entry points."""
    (tmp_path / "hilgw_foo.py").write_text(THIRD_PARTY)
    (tmp_path / "hilgw_foo_leaves.py").write_text("raise SystemExit(0)\n")
    install(
        tmp_path,
        "hilgw-foo",
        "[hilgw.adapters]\nfoo = hilgw_foo:ADAPTER\nxbee = hilgw_foo:ADAPTER\n"
        "broken = hilgw_foo_missing:ADAPTER\nnothing = hilgw_foo:__doc__\n"
        "half = hilgw_foo:Limits\nno_settings = hilgw_foo:Plain\nodd = hilgw_foo:Odd\n"
        "leaves = hilgw_foo_leaves:ADAPTER\n",
    )
    monkeypatch.syspath_prepend(tmp_path)
    shape.file_validator.cache_clear()
    yield tmp_path
    shape.file_validator.cache_clear()


@pytest.mark.parametrize("kind", ["base", "_xbee_session", "xbee.x", "", "XBee", "a" * 5000])
def test_what_is_not_a_kind(kind: str) -> None:
    with pytest.raises(ConfigError) as caught:
        plugins.load(plugins.ADAPTERS, kind)
    assert "unknown kind" in caught.value.what
    assert caught.value.fix


@pytest.mark.usefixtures("third_party")
def test_a_third_partys_adapter_by_its_entry_point(errors: Lines) -> None:
    text = "version: 1\nrobots: {r: {}}\nadapters: {a: {kind: foo, port: 'loop://', channel: 9, "
    config = load_text(text + "power_dbm: 5, follow: r}}\n", "f").config
    assert config.adapters["a"].settings.power_dbm == 5
    for more, error in (
        ("power_dbm: 25", "adapters.a.power_dbm: 25 is out of range; allowed: 0 to 20"),
        ("power_dbm: 10", "adapters.a.power_dbm: is more than channel; lower it"),
        ("power_dbm: 1, follow: s", "unknown robot 's'"),
    ):
        assert error in errors(text + more + "}}\n")[0]
    assert "did you mean 'foo'?" in errors(text.replace("foo", "fooo") + "}}\n")[0]
    # Ours goes before a third party's of the same name.
    assert plugins.find(plugins.ADAPTERS)["xbee"]().Settings.__name__ == "XBeeSettings"


@pytest.mark.parametrize("kind", BROKEN)
def test_one_that_does_not_load_is_reported(third_party: Path, errors: Lines, kind: str) -> None:
    (line,) = errors(f"version: 1\nadapters: {{a: {{kind: {kind}}}}}\n")
    assert "adapters.a.kind: " in line
    assert BROKEN[kind] in line
    if kind != "odd":
        assert f"kind '{kind}' of hilgw-foo does not load: " in line
        assert line.endswith("repair or remove hilgw-foo")


def test_a_part_that_does_not_load_is_shown_with_its_line(
    third_party: Path, errors: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "hilgw_foo", raising=False)
    file = third_party / "hilgw_foo.py"
    file.write_text("import sys\n\nraise OSError('no library:\\n  libfoo')\n")
    importlib.invalidate_caches()
    (line,) = errors("version: 1\nadapters: {a: {kind: foo}}\n")
    reason = f"OSError: no library: libfoo, at {file}:3"
    assert f"kind 'foo' of hilgw-foo does not load: {reason}" in line


@pytest.fixture
def parts_of_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "hilgw_parts.py").write_text(UNDECLARED)
    install(
        tmp_path,
        "hilgw-parts",
        "[hilgw.controllers]\nsilent = hilgw_parts:Silent\nwritten = hilgw_parts:Written\n"
        "peer = hilgw_parts:Peer\n[hilgw.bodies]\nsilent = hilgw_parts:Silent\n"
        "robot = hilgw_parts:Robot\n",
    )
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.usefixtures("parts_of_others")
def test_a_kind_declares_what_it_is() -> None:
    assert plugins.load(plugins.CONTROLLERS, "written").role is Role.PROXY
    assert plugins.load(plugins.CONTROLLERS, "peer").role is Role.PEER
    assert plugins.load(plugins.BODIES, "robot").retry_s == 1.0
    for group, fault, fix in (
        (plugins.CONTROLLERS, "does not declare its `role`", "inherit one of InsideController, "),
        (plugins.BODIES, "does not declare simulated, retry_s", "inherit hilgw.bodies.base.Body"),
    ):
        with pytest.raises(ConfigError) as caught:
            plugins.load(group, "silent")
        assert f"kind 'silent' of hilgw-parts does not load: it {fault}" in caught.value.what
        assert caught.value.fix.startswith(fix)


@pytest.mark.usefixtures("third_party")
def test_the_others_go_on(tmp_path: Path) -> None:
    parts, broken = plugins.load_all(plugins.ADAPTERS)
    assert {"xbee", "uart", "foo", "odd"} <= set(parts) and len(broken) == len(BROKEN) - 1
    code, out, err = in_process("schema", cwd=tmp_path)
    kinds = set(re.findall(r'"title": "adapter (\w+)"', out))
    assert code == 0 and {"xbee", "foo"} <= kinds and not kinds & set(BROKEN)
    assert len(err.splitlines()) == len(BROKEN)
    assert all(reported in err for reported in BROKEN.values())
