"""Nothing a client, a neighbour or a parameter does makes a mock crash, hang or grow."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, strategies as st

from firmware_mocks import xbee
from firmware_mocks.air import Air
from firmware_mocks.xbee.hardware import KINDS
from firmware_mocks.xbee.module import Module
from tests.cases import cases
from tests.firmware_mocks.bench import XBeeAir, wrap

QUICK = cases(1, suppress_health_check=[HealthCheck.too_slow])
FRAME_TYPES = (0x00, 0x01, 0x08, 0x09, 0x10, 0x11, 0x17, 0x2D)
REGISTERS = sorted(
    {name for kind in KINDS.values() for name in kind.registers} | {"ND", "FR", "RE"}
)
COMMANDS = st.sampled_from([name.encode() for name in REGISTERS])


@st.composite
def frames(draw: st.DrawFn) -> bytes:
    """Frames that look right, with anything in them."""
    if draw(st.booleans()):
        command = draw(COMMANDS) + draw(st.binary(max_size=9))
        return wrap(bytes((draw(st.sampled_from((8, 9))), 1)) + command)
    return wrap(bytes((draw(st.sampled_from(FRAME_TYPES)),)) + draw(st.binary(max_size=130)))


LINES = st.builds(
    lambda parts: ("AT" + ",".join(parts) + "\r").encode(),
    st.lists(st.builds(lambda n, v: n.decode() + v, COMMANDS, st.text("0123ABCDEFx ", max_size=9))),
)
CHUNKS = st.one_of(st.binary(max_size=300), frames(), LINES, st.just(b"+++"))


def is_sane(bench: XBeeAir, module: Module) -> None:
    assert module.input.held <= module.settings.hardware.uart_buffer
    assert module.uart.held(bench.now) < 4 * module.settings.hardware.uart_buffer + 600
    assert module.radio.waiting <= 16
    assert module.baud_rate > 0
    assert 10 <= module.bits_per_byte <= 12


@QUICK
@given(
    st.sampled_from(sorted(KINDS)),
    st.sampled_from((0, 1, 2)),
    st.lists(st.tuples(CHUNKS, st.integers(0, 1500)), max_size=12),
)
def test_no_bytes_upset_a_module(kind: str, mode: int, chunks: list[tuple[bytes, int]]) -> None:
    bench = XBeeAir(loss=0.1)
    module = bench.add(hardware=kind, api_mode=mode, CE="1" if kind == "zigbee" else "0", GT="A")
    other = bench.add(hardware=kind, replies={"": "x"})
    for chunk, pause in chunks:
        module.receive(chunk, bench.now)
        bench.run(pause)
        is_sane(bench, module)
        is_sane(bench, other)
    bench.run(60_000)
    assert not module.radio.busy
    # Whatever was set on the way: a fresh start works.
    for name, value in (("AP", 1), ("BD", 3)):
        module.registers.install(name, value)
    module.reset(bench.now)
    bench.settle()
    assert bench.get(module, b"AP") == b"\x01"


@QUICK
@given(
    st.sampled_from([*xbee.PARAMETERS, *REGISTERS, "nonsense"]),
    st.one_of(st.text(max_size=12), st.integers(), st.floats(), st.none(), st.lists(st.integers())),
    st.sampled_from(sorted(KINDS)),
)
def test_a_parameter_fits_or_is_a_value_error(name: str, value: Any, kind: str) -> None:
    air = Air()
    parameters = {"hardware": kind, name: value}
    try:
        module = xbee.create("m", air, parameters)
    except ValueError as error:
        assert name in str(error)
        with pytest.raises(ValueError) as checked:
            xbee.check(parameters)
        assert str(checked.value) == str(error)
        return
    xbee.check(parameters)
    module.advance(0)
    assert module.describe()


def test_parameters_in_human_terms_and_at_names(bench: XBeeAir) -> None:
    human = bench.add(
        "named",
        channel="13",
        pan_id="0x1234",
        my=7,
        ni="rover",
        power=1,
        baudRate=19200,
        address="0013A20040A1B2C3",
    )
    at = bench.add(CH="D", ID="1234", MY="7", NI="rover", PL="1", BD="4", SL="40A1B2C3")
    for name in ("CH", "ID", "MY", "NI", "PL", "BD", "SH", "SL", "AP"):
        assert human.registers.held(name) == at.registers.held(name), name
    assert "channel 13" in human.describe()
    assert human.address == 0x0013A20040A1B2C3


def test_addresses_are_of_the_name_and_differ() -> None:
    names = [f"xbee{index}" for index in range(50)]
    addresses = [xbee.create(name, Air(), {}).address for name in names]
    assert addresses == [xbee.create(name, Air(seed=9), {}).address for name in names]
    assert len(set(addresses)) == 50
    assert {address >> 32 for address in addresses} == {0x0013A200}
