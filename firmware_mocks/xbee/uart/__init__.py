"""What the module does on its serial line: bytes, API frames, AT commands."""
