"""`hilgw adapters`: kinds of hardware, their limits and mapping."""

import json

import pytest

from hilgw import plugins
from hilgw.adapters.xbee import ADAPTER
from hilgw.cli.main import main
from hilgw.errors import ConfigError


def test_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["adapters"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == list(plugins.find(plugins.ADAPTERS))
    assert any(ADAPTER.summary in line and " radio " in line for line in lines)


def test_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["adapters", "xbee"]) == 0
    out = capsys.readouterr().out
    assert out.startswith(f"xbee: {ADAPTER.summary}\n")
    for mapped in ADAPTER.limits.mapping:
        assert f"  {mapped.field} " in out
        assert f"{mapped.maps}: " in out
    assert f"up to {ADAPTER.limits.payload} bytes" in out
    assert "pan_id" in out
    assert max(map(len, out.splitlines())) <= 100


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["adapters", "--json"]) == 0
    found = {entry["kind"]: entry for entry in json.loads(capsys.readouterr().out)}
    xbee = found["xbee"]
    assert (xbee["type"], xbee["limits"]["payload"]) == ("radio", ADAPTER.limits.payload)
    assert xbee["limits"]["mapping"][0].keys() == {"field", "maps", "how"}
    pan_id = next(row for row in xbee["settings"] if row["key"] == "pan_id")
    assert (pan_id["limits"], pan_id["default"]) == ("0 to 65535", "not set")
    assert any(row["key"] == "port" for row in xbee["common_settings"])
    assert main(["adapters", "xbee", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == [xbee]


def test_an_unknown_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["adapters", "xbbe"]) == 2
    assert "unknown adapter 'xbbe'; did you mean 'xbee'?" in capsys.readouterr().err


def test_one_that_does_not_load_is_reported_and_left_out(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken() -> None:
        raise ConfigError("kind 'foo' of bar does not load", fix="repair bar")

    monkeypatch.setattr(plugins, "find", lambda group: {"foo": broken, "xbee": lambda: ADAPTER})
    assert main(["adapters"]) == 0
    out, err = capsys.readouterr()
    assert out.startswith("xbee ")
    assert err == "hilgw: kind 'foo' of bar does not load; repair bar\n"
