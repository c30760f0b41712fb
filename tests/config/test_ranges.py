"""Every number of a configuration has a range, so no number reaches code that it would break."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest

import hilgw
from hilgw.config.load import load_config
from hilgw.errors import HilgwError


def settings_classes() -> Iterator[type[Any]]:
    """Every dataclass of hilgw whose fields are declared with setting()."""
    for module in pkgutil.walk_packages(hilgw.__path__, "hilgw."):
        if "__main__" in module.name:
            continue
        for found in vars(importlib.import_module(module.name)).values():
            if not (isinstance(found, type) and is_dataclass(found)):
                continue
            if any("doc" in field.metadata for field in fields(found)):
                yield found


def is_number(hint: Any) -> bool:
    """Whether a value of this type, or an item of it, is a number. Keys are not."""
    if get_origin(hint) is Literal:
        return False
    if get_origin(hint) in (dict, Mapping):
        return is_number(get_args(hint)[1])
    return hint in (int, float) or any(map(is_number, get_args(hint)))


def unbounded(settings: type[Any]) -> list[str]:
    hints = get_type_hints(settings)
    return [
        f"{settings.__qualname__}.{field.name}"
        for field in fields(settings)
        if "doc" in field.metadata and is_number(hints[field.name])
        if not field.metadata["choices"]
        if field.metadata["le"] is None
        or (field.metadata["ge"] is None and field.metadata["gt"] is None)
    ]


def test_every_number_has_a_lower_and_an_upper_bound() -> None:
    classes = list(settings_classes())
    assert len(classes) > 20
    assert [name for settings in classes for name in unbounded(settings)] == []


OBSTACLE = "{wall: {shape: box, size: [1, 1, 1], position: [0, 0, 0]}}"


@pytest.mark.parametrize(
    "text",
    [
        f"version: 1\nrobots: true\nobstacles: {OBSTACLE}\n",
        f"version: 1\nadapters: 5\nobstacles: {OBSTACLE}\n",
    ],
)
def test_a_section_of_the_wrong_type_beside_obstacles_is_an_error(text: str, tmp_path: Any) -> None:
    file = tmp_path / "world.yaml"
    file.write_text(text)
    with pytest.raises(HilgwError):
        load_config(str(file), [], None)


def test_a_number_out_of_range_is_an_error() -> None:
    with pytest.raises(HilgwError, match="rssi_at_1m_dbm"):
        load_config("configs/xbee.yaml", ["adapters.xbee0.rssi_at_1m_dbm=2147483648"], "mock")
