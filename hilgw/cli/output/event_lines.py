"""The events of a running gateway as lines: in words, and as rows of CSV."""

from datetime import datetime
from typing import Any

from hilgw.cli.output.text import one_line
from hilgw.events.kinds import csv_data, kind_of, name_of, numbers, words

Event = dict[str, Any]
CSV_COLUMNS = ("wall_s", "mono_ns", "time_ns", "name", "field", "value", "unit")


def in_words(event: Event) -> str:
    """Return the line of an event: the time of day, whom it is about, what happened."""
    time = datetime.fromtimestamp(event.get("wall_s", 0.0)).astimezone()
    text = f"{name_of(event):<16} {words(event)}"
    return one_line(f"{time:%H:%M:%S}.{time.microsecond // 1000:03}  {text}")


def csv_rows(event: Event) -> list[list[Any]]:
    """Return the rows of an event.

    There is a row for each number of a value or a command; one for a frame, for bytes and for a
    loss; none for other events.
    """
    times, name = [event[key] for key in CSV_COLUMNS[:3]], one_line(name_of(event))
    if columns := kind_of(event).columns:
        field, value = (one_line(csv_data(event, key)) for key in columns)
        return [[*times, name, field, value, ""]]
    return [
        [*times, name, one_line(one.name), one.value, one_line(one.unit)] for one in numbers(event)
    ]
