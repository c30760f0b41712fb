"""The JSON Schema of settings, for editors.

A choice between mappings, such as the kinds of adapters, is `if` and `then`, never `oneOf`: an
editor then underlines the line that is wrong, with the message of the kind in that line.
"""

from typing import Any

from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import PydanticOmit, to_jsonable_python

from hilgw.config.schema.models import CHOICE
from hilgw.errors import ConfigError

_PART = "$part"  # a mapping of settings, before all have their names

# Keywords that neither allow nor forbid null: a schema of these alone allows it by its type.
_OF_ONE_TYPE = {"type", "pattern", "items", "prefixItems", "minItems", "maxItems"} | {
    "minimum",
    "maximum",
    "exclusiveMinimum",
    "exclusiveMaximum",
}


def json_schema_of(schema: Any) -> dict[str, Any]:
    """Return the JSON Schema of a pydantic core schema; kinds that do not load are left out."""
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
        return self.generate_inner(made)

    def tagged_union_schema(self, schema: Any) -> dict[str, Any]:
        by_name, others = self._members(schema)
        if by_name:
            others.append(_by_tag(schema["custom_error_context"]["tag"], by_name))
        if not others:
            raise PydanticOmit
        if len(others) == 1:
            return others[0]
        types = [member.get("type", "object") for member in others]
        branches = zip(types, others, strict=True)
        return {"type": types, "allOf": [_if({"type": each}, then) for each, then in branches]}

    def _members(self, schema: Any) -> tuple[dict[str, Any], list[dict[str, Any]]]:
        by_name: dict[str, Any] = {}
        others: list[dict[str, Any]] = []
        for choice, member in schema["choices"].items():
            if choice == CHOICE:  # the kinds of other distributions
                by_name |= self._members(member["metadata"]["make"]())[0]
                continue
            try:
                made = self.generate_inner(member)
            except PydanticOmit:
                continue
            name = choice.removeprefix(CHOICE)
            if name in schema["metadata"]["names"]:
                by_name[name] = made
            else:
                others.append(made)
        return by_name, others

    def nullable_schema(self, schema: Any) -> dict[str, Any]:
        made = self.generate_inner(schema["schema"])
        if "type" in made and made.keys() <= _OF_ONE_TYPE:
            return {**made, "type": [made["type"], "null"]}
        return {"if": {"type": "null"}, "else": made}


def _by_tag(tag: str, members: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "required": [tag],
        "properties": {tag: {"enum": list(members)}},
        "allOf": [
            _if({"type": "object", "properties": {tag: {"const": name}}, "required": [tag]}, member)
            for name, member in members.items()
        ],
    }


def _if(condition: dict[str, Any], then: dict[str, Any]) -> dict[str, Any]:
    return {"if": condition, "then": then}


def _linked(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_linked(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        "$ref" if key == _PART else key: f"#/$defs/{item}" if key == _PART else _linked(item)
        for key, item in schema.items()
    }
