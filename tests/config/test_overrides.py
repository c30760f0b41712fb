"""`--set` and `--backend`: values over the file, errors in the option's own name."""

import pytest

from hilgw.config.load import load_text
from tests.config.cases import Lines, rows


def test_values_of_all_kinds(xbee_yaml: str) -> None:
    overrides = [
        "adapters.xbee0.channel=13",
        "adapters.xbee0.pan_id=0x1234",
        "adapters.xbee0.relay=true",
        "adapters.xbee0.byteSize=null",
        "adapters.xbee0.port=/dev/ttyUSB7",
        "adapters.xbee0.mapping={by: destination, table: {12: '1234', 13: broadcast}}",
        "adapters.xbee0.mapping.table.12=abcd",
        "robots.rover.position=[1, 2, 3]",
        "robots.rover.position[2]=4.5",
        "robots.rover.position.0=-1",
        "robots.rover.controller.payload='a=b: {n}'",
        'robots.rover.devices."tx".baudRate=4800',
        "airs.lab.nodes.spare.hardware=s1",
        "robots.second={position: [9, 9, 9]}",
        'robots."a=b"={position: [1, 1, 1]}',
    ]
    config = load_text(xbee_yaml, "f", overrides).config
    xbee, rover = config.adapters["xbee0"], config.robots["rover"]
    assert (xbee.common.channel, xbee.settings.pan_id, xbee.common.relay) == (13, 0x1234, True)
    assert (xbee.common.byteSize, xbee.common.port) == (None, "/dev/ttyUSB7")
    assert xbee.settings.mapping.table == {12: "abcd", 13: "broadcast"}
    assert rover.position == (-1.0, 2.0, 4.5)
    assert rover.controller is not None
    assert rover.controller.settings.payload == "a=b: {n}"
    assert rover.devices["tx"].baudRate == 4800
    assert config.airs["lab"].nodes["spare"].parameters == {"hardware": "s1"}
    assert config.robots["a=b"].position == (1.0, 1.0, 1.0)
    assert config.robots["second"].position == (9.0, 9.0, 9.0)


@pytest.mark.parametrize(
    ("backend", "error"),
    [
        ("moc", "'moc' is not one of the choices; did you mean 'mock'?"),
        ("loop", "'loop' was renamed; write loopback"),
    ],
)
def test_a_wrong_back_end_is_named(xbee_yaml: str, errors: Lines, backend: str, error: str) -> None:
    assert errors(xbee_yaml, backend=backend) == [f"--backend {backend}: backend: {error}"]


def test_what_an_override_corrects_and_what_it_does_not(xbee_yaml: str, errors: Lines) -> None:
    text = xbee_yaml.replace("channel: 12   ", "channel: fast   ")
    assert text != xbee_yaml
    overrides = ["adapters.xbee0.channel=13", "adapters.xbee0.channel=15", "backend=loopback"]
    config = load_text(text, "f", [*overrides, "medium.seed=7"]).config  # not in the file
    assert config.adapters["xbee0"].common.channel == 15  # the last one wins
    assert (config.medium.seed, config.backend) == (7, "loopback")
    assert load_text(text, "f", overrides, "real").config.backend == "real"
    text = xbee_yaml.replace("    mapping: {by: module_channel}", "    #")
    config = load_text(text, "f", ["adapters.xbee0.mapping.by=header"]).config
    assert config.adapters["xbee0"].settings.mapping.by == "header"
    (line,) = errors(xbee_yaml.replace("channel: 12   ", "channel: 014   "), *overrides[:1])
    assert "adapters.xbee0.channel: a number with leading zeros" in line


@pytest.mark.parametrize(
    ("override", "line"),
    [
        *rows(
            """
        adapters.xbee0.channel => is not an override; write KEY.KEY=VALUE
        =5 => is not an override; write KEY.KEY=VALUE
        a..b=5 => is not an override; write KEY.KEY=VALUE
        adapters.xbee0.chanel=5 => adapters.xbee0.chanel: unknown key; did you mean 'channel'?
        adapters.xbee1.channel=5 => adapters.xbee1.channel: adapters has no entry 'xbee1'; did
        adapter.xbee0.channel=5 => adapter: unknown key; did you mean 'adapters'?
        airs.lab.nodes.remot.ni=x => airs.lab.nodes.remot.ni: airs.lab.nodes has no entry 'remot'
        robots.rover.position[3]=1 => robots.rover.position[3]: robots.rover.position has no item
        robots.rover.position.x=1 => robots.rover.position.x: robots.rover.position has no item
        backend.x=1 => backend.x: backend is not a mapping; set the whole value
        adapters.xbee0.channel=13x => adapters.xbee0.channel: must be a whole number, not the text
        adapters.xbee0.channel=30 => adapters.xbee0.channel: 30 is not a valid XBee channel
        adapters.xbee0.channel=013 => adapters.xbee0.channel: a number with leading zeros is octal
        adapters.xbee0.channel= => adapters.xbee0.channel: must be a whole number, not the text ''
        adapters.xbee0.destination=0013 => adapters.xbee0.destination: a number with leading zeros
        adapters.xbee0.destination=1320 => adapters.xbee0.destination: must be text, not the number
        adapters.xbee0.mapping={by: [ => adapters.xbee0.mapping: '[' is not closed; close it
        adapters.xbee0.mapping=a: b: c => adapters.xbee0.mapping: a ':' where a key is not allowed
        adapters.xbee0.mapping={by: hedder} => adapters.xbee0.mapping.by: unknown by 'hedder'; did
        adapters.xbee0.air=lob => adapters.xbee0.air: unknown air 'lob'; did you mean
        adapters.new={kind: xbee} => adapters.new.port: missing; write `port: /dev
        version=3 => version: 3 is not one of the choices
        """
        ),
        ("robots.rover.position." + "9" * 5000 + "=5", "robots.rover.position.'9999"),
        (
            "robots.rover.devices.ty.channel=5",
            "robots.rover.devices.ty.channel: robots.rover.devices has no entry 'ty'",
        ),
        ("adapters.xbee0.air=\x1b[1m", "adapters.xbee0.air: has unprintable characters"),
    ],
)
def test_errors_name_the_option(xbee_yaml: str, errors: Lines, override: str, line: str) -> None:
    reported = errors(xbee_yaml, override)
    place = "--set " + override.replace("\x1b", "\\x1b")
    assert any(one.startswith(place[:40]) and f": {line}" in one for one in reported), reported
    assert all(one.isprintable() for one in reported)
