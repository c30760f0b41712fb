"""`hilgw adapters`: kinds of hardware, their limits and mapping."""

import json

import pytest

from hilgw import plugins
from hilgw.adapters.xbee import ADAPTER
from hilgw.errors import ConfigError
from tests.cli.conftest import Command


def test_the_list(hilgw: Command) -> None:
    code, out, _ = hilgw("adapters")
    lines = out.splitlines()
    assert code == 0 and [line.split()[0] for line in lines] == list(plugins.find(plugins.ADAPTERS))
    assert any(ADAPTER.summary in line and " radio " in line for line in lines)
    code, _, err = hilgw("adapters", "xbbe")
    assert code == 2 and "unknown adapter 'xbbe'; did you mean 'xbee'?" in err


def test_one(hilgw: Command) -> None:
    code, out, _ = hilgw("adapters", "xbee")
    assert code == 0 and out.startswith(f"xbee: {ADAPTER.summary}\n")
    assert ADAPTER.limits.mapping
    for mapped in ADAPTER.limits.mapping:
        assert f"  {mapped.field} " in out and f"{mapped.maps}: " in out
    assert f"up to {ADAPTER.limits.payload} bytes" in out and "pan_id" in out
    assert max(map(len, out.splitlines())) <= 100


def test_json(hilgw: Command) -> None:
    code, out, _ = hilgw("adapters", "--json")
    xbee = {entry["kind"]: entry for entry in json.loads(out)}["xbee"]
    assert (code, xbee["type"], xbee["limits"]["payload"]) == (0, "radio", ADAPTER.limits.payload)
    assert xbee["limits"]["mapping"][0].keys() == {"field", "maps", "how"}
    pan_id = next(row for row in xbee["settings"] if row["key"] == "pan_id")
    assert (pan_id["limits"], pan_id["default"]) == ("0 to 65535", "not set")
    assert any(row["key"] == "port" for row in xbee["common_settings"])
    assert json.loads(hilgw("adapters", "xbee", "--json")[1]) == [xbee]


def test_one_that_does_not_load_is_reported_and_left_out(
    hilgw: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> None:
        raise ConfigError("kind 'foo' of bar does not load", fix="repair bar")

    monkeypatch.setattr(plugins, "find", lambda group: {"foo": broken, "xbee": lambda: ADAPTER})
    code, out, err = hilgw("adapters")
    assert code == 0 and out.startswith("xbee ")
    assert err == "hilgw: kind 'foo' of bar does not load; repair bar\n"
