"""What the user reads of packets that wait for a port, and of those that get no answer."""

from dataclasses import replace
from typing import Any

import pytest

from hilgw.engine.observer import State
from hilgw.engine.station.station_watch import StationTraffic, StationWatch, StationWatches
from hilgw.testing.sim import Clock, Recorder

S = 1_000_000_000
QUIET = StationTraffic(
    State.UP, "", 1, queued=0, delivered=0, unacknowledged=0, received=0, received_ns=0
)


def looks(*traffic: StationTraffic, is_listening: bool = True) -> list[str]:
    """The lines of looks once a second, at this traffic."""
    watch = StationWatch("the baud rate (9600)")
    lines = [
        watch.look(second * S, each, is_listening=is_listening)
        for second, each in enumerate(traffic)
    ]
    return [line for line in lines if line]


def sending(seconds: int, **more: Any) -> list[StationTraffic]:
    """Two packets a second."""
    return [replace(QUIET, delivered=2 * second, **more) for second in range(seconds)]


@pytest.mark.parametrize(
    ("state", "reason", "why"),
    [
        (State.WAITING, "no such device", "waiting: no such device"),
        (State.RELEASED, "to avrdude (process 7)", "released to avrdude (process 7)"),
    ],
)
def test_packets_that_wait_for_a_port_are_named_again(state: State, reason: str, why: str) -> None:
    down = replace(QUIET, state=state, reason=reason, connections=0, queued=7)
    assert looks(*[down] * 25) == [f"queued 7, sent 0: waits for its port ({why})"] * 3
    assert looks(*[replace(down, queued=0)] * 25) == []


def test_a_handshake_may_take_its_time() -> None:
    starts = replace(QUIET, state=State.HANDSHAKE, connections=0, queued=7)
    assert looks(starts, starts, replace(QUIET, delivered=7)) == []


def test_many_packets_and_nothing_back_is_reported_once_for_each_connection() -> None:
    lines = looks(*sending(30))
    assert lines == ["10 packets out in 5 s, and nothing came back; check the baud rate (9600)"]
    again = [replace(each, connections=2, delivered=each.sent + 60) for each in sending(30)]
    assert len(looks(*sending(30), *again)) == 2


def test_it_is_reported_only_where_something_listens_and_nothing_came() -> None:
    assert looks(*sending(30), is_listening=False) == []
    answered = [replace(each, received=int(each.sent > 4)) for each in sending(30)]
    assert looks(*answered) == []


def test_few_packets_and_a_short_time_mean_nothing() -> None:
    assert looks(*[replace(QUIET, delivered=min(second, 4)) for second in range(60)]) == []
    assert looks(*sending(5)) == []
    late = [QUIET] * 20 + [replace(QUIET, delivered=20)] * 3
    assert looks(*late) == []


def test_bytes_that_are_no_packet_have_the_line_of_the_session_alone() -> None:
    down = replace(QUIET, state=State.HANDSHAKE, connections=0)
    answered = [replace(each, received_ns=7) for each in sending(30)]
    assert len(looks(down, *answered)) == 1  # the handshake alone was answered
    assert looks(down, *sending(3), *answered[3:]) == []


def test_packets_that_no_module_acknowledges_need_no_receiver() -> None:
    lost = [replace(QUIET, unacknowledged=2 * second) for second in range(30)]
    for is_listening, what in ((False, "none was acknowledged"), (True, "nothing came back")):
        lines = looks(*lost, is_listening=is_listening)
        assert lines == [f"10 packets out in 5 s, and {what}; check the baud rate (9600)"]
    one = [replace(each, delivered=int(each.sent > 4)) for each in lost]
    assert looks(*one, is_listening=False) == []


def test_all_stations_are_looked_at_until_the_end() -> None:
    clock, observer = Clock(), Recorder()
    watches = StationWatches(clock, observer)
    down = replace(QUIET, state=State.WAITING, queued=1)
    watches.add("xb0", "", lambda: down, lambda: True)
    watches.start()
    clock.run(4 * S)
    assert observer.notices == ["queued 1, sent 0: waits for its port (waiting)"]
    watches.stop()
    clock.run(60 * S)
    assert len(observer.notices) == 1
