"""What every adapter of this project documents."""

import dataclasses

import pytest

from hilgw import plugins
from hilgw.devices.fields import EmitterFields, ReceiverFields

OF_THE_ROBOT = {"model", "sampling_period_ms", "translation", "rotation"}  # not of the module
FIELDS = {
    field.name for fields in (EmitterFields, ReceiverFields) for field in dataclasses.fields(fields)
} - OF_THE_ROBOT


@pytest.mark.parametrize("kind", plugins.own(plugins.ADAPTERS))
def test_every_field_of_webots_is_in_its_table(kind: str) -> None:
    rows = plugins.load(plugins.ADAPTERS, kind).limits.mapping
    text = ", ".join(row.field for row in rows)
    assert not [name for name in sorted(FIELDS) if name not in text]
    assert {row.maps for row in rows} <= {"exact", "approximate", "cannot"}
