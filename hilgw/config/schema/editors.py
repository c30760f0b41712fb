"""The JSON Schema of settings, for editors."""

from __future__ import annotations

from typing import Any

from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import PydanticOmit, to_jsonable_python

from hilgw.errors import ConfigError

_PART = "$part"  # a mapping of settings, before all have their names


def json_schema_of(schema: Any) -> dict[str, Any]:
    """The JSON Schema of a schema of pydantic's core; kinds that do not load are left out."""
    generator = _Generator()
    root = generator.generate(schema)[_PART]
    parts = {name: _linked(generator.sort(part)) for name, part in sorted(generator.parts.items())}
    made: dict[str, Any] = to_jsonable_python({**parts.pop(root), "$defs": parts})
    return made


class _Generator(GenerateJsonSchema):
    """Adds the keys `json` of the metadata; `make` there makes the schema of kinds.

    parts: each mapping of settings, by the name of its definition.
    """

    def __init__(self) -> None:
        super().__init__()
        self.parts: dict[str, dict[str, Any]] = {}

    def generate_inner(self, schema: Any) -> dict[str, Any]:
        made = {**super().generate_inner(schema), **schema.get("metadata", {}).get("json", {})}
        if schema["type"] != "typed-dict" or "title" not in made:
            return made
        name = made["title"].replace(" ", "_")
        while self.parts.setdefault(name, made) != made:
            name += "_"
        return {_PART: name}

    def function_plain_schema(self, schema: Any) -> dict[str, Any]:
        try:
            made = schema["metadata"]["make"]()
        except ConfigError:
            raise PydanticOmit from None
        if made["type"] == "tagged-union" and not made["choices"]:
            raise PydanticOmit
        return self.generate_inner(made)


def _linked(schema: Any) -> Any:
    """With references to the definitions of its parts."""
    if isinstance(schema, list):
        return [_linked(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        "$ref" if key == _PART else key: f"#/$defs/{item}" if key == _PART else _linked(item)
        for key, item in schema.items()
    }
