"""Recordings in other forms: read by pandas and by the reader of the mcap package."""

from pathlib import Path

import pytest

from hilgw.errors import HilgwError
from hilgw.events.wire import link
from hilgw.protocols.gateway.messages import keys_of
from hilgw.record import convert
from hilgw.record.compare import Difference, compare
from hilgw.record.recording import Recording
from tests.cli.output.test_federation import gateway
from tests.record.samples import COMMAND, PACKET, VALUE
from tests.view.samples import recorded

S = 10**9
EPOCH = 1_700_000_000 * S
GPS = {**VALUE, "device": "gps", "value": [1.5, 2, 3], "fields": [*"xyz"], "units": ["m"] * 3}
TOUCH = {**GPS, "device": "../touch", "value": 1, "fields": ["value"], "units": [""]}
NOTICE = {"event": "notice", "source": "a", "text": "antenna turned"}


def line(time_ns: int, data: bytes) -> dict[str, object]:
    known = {"event": "bytes", "part": "uart0", "direction": "sent"}
    return known | {"time_ns": time_ns, "data": data.hex()}


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return recorded(
        tmp_path / "run.pcapng",
        GPS | {"time_ns": S},
        GPS | {"time_ns": 2 * S, "value": ["nan", 5, 6]},
        TOUCH | {"time_ns": 2 * S},
        COMMAND | {"time_ns": 3 * S},
        PACKET | {"time_ns": 4 * S, "data": b"1e99".hex()},
        line(5 * S, b"ab"),
        NOTICE | {"time_ns": 6 * S},
        epoch_ns=EPOCH,
    )


@pytest.mark.exhaustive
def test_pandas_reads_a_table_for_each_device(tmp_path: Path, run: Path) -> None:
    import pandas  # here: it takes longer to import than all others that the tests need

    folder = tmp_path / "csv"
    found = Recording(run)
    files = convert.to_csv(found, folder)
    assert {path.parent for path in files} == {folder}
    gps = pandas.read_csv(folder / "rover.gps.csv")
    assert list(gps.columns) == ["time_s", "wall_s", "x (m)", "y (m)", "z (m)"]
    assert gps["time_s"].tolist() == [1.0, 2.0]  # from the head on, as in show --from
    assert gps["x (m)"].isna().tolist() == [False, True]
    touch = pandas.read_csv(folder / "rover...%2Ftouch.csv")
    assert touch["value"].tolist() == [1]
    left = pandas.read_csv(folder / "rover.left.csv").to_dict("records")
    assert left[0]["velocity (rad/s)"] == 2.0
    assert left[0]["velocity applied (rad/s)"] == 1.0
    packets = pandas.read_csv(folder / "packets.csv").to_dict("records")
    # Digits alone would be a number, and infinite.
    assert (packets[0]["data"], packets[0]["received_by"]) == ("hex:31653939", "a b")


def test_a_recording_of_countless_devices_is_refused(
    tmp_path: Path, run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(convert, "MOST_FILES", 3)
    found = Recording(run)
    with pytest.raises(HilgwError, match="has 4 devices"):
        convert.to_csv(found, tmp_path / "csv")


def test_the_first_difference_of_each_stream_is_found(tmp_path: Path) -> None:
    """The order between streams, the times, the pieces of bytes and the measures of other gateways
    differ without being named."""
    other = COMMAND | {"given": {"velocity": 3.0}}
    first = recorded(
        tmp_path / "a.pcapng",
        line(1 * S, b"abc"),
        line(2 * S, b"def"),
        GPS | {"time_ns": 3 * S},
        COMMAND | {"time_ns": 4 * S},
        NOTICE | {"time_ns": 5 * S},
        {"event": "link", "time_ns": 6 * S, **keys_of(link("gateway@bench", gateway()))},
    )
    second = recorded(
        tmp_path / "b.pcapng",
        GPS | {"time_ns": 8 * S},
        line(9 * S, b"abcd"),
        line(9 * S, b"eX"),
        other | {"time_ns": 10 * S},
        begin_ns=7 * S,
    )
    assert not compare(Recording(first), Recording(first)).differences
    found = compare(Recording(first), Recording(second))
    assert found.differences == [
        Difference("bytes uart0 sent", 6, 2.0, ord("f"), ord("X")),
        Difference("command rover left", 1, 4.0, COMMAND, other),
        Difference("notice a", 1, 5.0, NOTICE, None),
    ]
    assert found.counts["bytes uart0 sent"] == (6, 6)
    assert found.counts["notice a"] == (1, 0)
