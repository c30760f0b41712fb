"""grbl-streamer, a client of others, unmodified on the mock of the G-code machine."""

from collections import defaultdict
from typing import Any

import pytest
from grbl_streamer import GrblStreamer

from hilgw.testing.sim import wait_until

SQUARE = "G21 G90\nG0 X10 Y10\nG1 X40 F6000\nY40\nX10\nY10\nG0 X0 Y0"


@pytest.fixture
def machine(firmware_mock: Any) -> Any:
    return firmware_mock("gcode_machine", max_rate=6000)


def test_it_streams_holds_resumes_and_reads_the_state(machine: Any) -> None:
    events: dict[str, list[Any]] = defaultdict(list)
    client = GrblStreamer(lambda name, *data: events[name].append(data))
    client.poll_interval = 0.02
    client.incremental_streaming = True  # else its two threads at times send a line twice
    client.cnect(str(machine.port), 115200)
    try:
        exchange(client, machine.mock, events)
    finally:
        client.disconnect()


def exchange(client: GrblStreamer, mock: Any, events: dict[str, list[Any]]) -> None:
    client.softreset()
    wait_until(lambda: bool(events["on_boot"]), what="the banner")
    client.poll_start()
    wait_until(lambda: client.cmode == "Idle", what="a status report")
    client.write(SQUARE)
    client.job_run()
    wait_until(lambda: client.cmode == "Run" and client.cmpos[0] > 12, what="the motion")
    client.hold()
    wait_until(lambda: client.cmode.startswith("Hold"), what="the feed hold")
    held = mock.position
    assert 12 < held[0] <= 40
    client.resume()
    wait_until(lambda: client.cmode == "Idle" and client.job_finished, what="the end of the job")
    expected = [(10, 10, 0), (40, 10, 0), (40, 40, 0), (10, 40, 0), (10, 10, 0), (0, 0, 0)]
    assert mock.drawn == expected
    assert client.cmpos == (0, 0, 0) and not events["on_error"]
    client.send_immediately("$foo")
    wait_until(lambda: bool(events["on_error"]), what="the error")
    assert events["on_error"][0][0] == "error:3"
    client.send_immediately("G1 X-5 F100")
    wait_until(lambda: bool(events["on_alarm"]), what="the soft limit")
    assert events["on_alarm"] == [("ALARM:2",)]
    client.softreset()
    wait_until(lambda: len(events["on_boot"]) == 2, what="the second start")
    client.killalarm()
    wait_until(lambda: client.cmode == "Idle", what="the end of the alarm")
