"""The module on its serial line: bytes, API frames, AT commands."""
