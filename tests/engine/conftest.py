"""What holds after every test with a control loop."""

from collections.abc import Iterator
from typing import Any

import pytest

from hilgw.engine.control_loop.loop import ControlLoop


@pytest.fixture(autouse=True)
def every_command_has_one_outcome(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Each command of a controller was written, replaced, dropped or refused, or still waits."""
    loops: list[ControlLoop] = []
    begin = ControlLoop.__init__

    def begin_seen(loop: ControlLoop, *given: Any, **named: Any) -> None:
        begin(loop, *given, **named)
        loops.append(loop)

    monkeypatch.setattr(ControlLoop, "__init__", begin_seen)
    yield
    for loop in loops:
        counts, records = loop.statistics.counts, loop.safety.records.motors.values()
        waiting = sum(each.waits for record in records for each in record.sets.values())
        lost = counts["commands_superseded"] + counts["commands_dropped"]
        unaccounted = counts["commands_in"] - counts["commands_out"] - lost - waiting
        refused = sum(loop.report()["refused"].values())  # those of LEDs and others, too
        assert 0 <= unaccounted <= refused, f"{unaccounted} of {dict(counts)}"
