"""What is remembered while a file is checked: what became of each mapping in it."""

from __future__ import annotations

from typing import Any


class Context:
    """What each mapping may hold, and the object made from each that passed its checks.

    Mappings are known by identity; the document that holds them must outlive this object.
    """

    def __init__(self) -> None:
        self._keys: dict[int, dict[str, str]] = {}
        self._parts: dict[int, tuple[type[Any], ...]] = {}
        self._made: dict[int, Any] = {}

    def note_shape(
        self, mapping: Any, keys: dict[str, str], parts: tuple[type[Any], ...] = ()
    ) -> None:
        """keys: each allowed key with an example of its value, or nothing. parts: the settings
        dataclasses that declare them."""
        self._keys[id(mapping)] = keys
        self._parts[id(mapping)] = parts

    def parts(self, mapping: Any) -> tuple[type[Any], ...]:
        return self._parts.get(id(mapping), ())

    def keys(self, mapping: Any) -> tuple[str, ...]:
        return tuple(self._keys.get(id(mapping), ()))

    def advice(self, mapping: Any, key: str) -> str:
        """What to do about a key that is missing."""
        example = self._keys.get(id(mapping), {}).get(key)
        return f"write `{key}: {example}`" if example else f"write `{key}: ...`"

    def note(self, mapping: Any, made: Any) -> Any:
        self._made[id(mapping)] = made
        return made

    def made(self, mapping: Any) -> Any:
        """The object made from this mapping, None when it did not pass (or is no mapping)."""
        return self._made.get(id(mapping))
