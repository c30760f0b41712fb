"""Names that are probably not those of a serial port of this machine."""

from __future__ import annotations

import os
import re
import sys

_LIST = "`hilgw ports` lists the ports of this machine"
_WINDOWS = re.compile(r"(?i)(\\\\\.\\)?COM\d+")
_MACOS = re.compile(r"/dev/(cu|tty)\.\S+")
_BARE = re.compile(r"(tty|rfcomm|cu)\w+|serial/\S+")
_TYPOGRAPHIC = re.compile("[\u2018-\u201f]")
_ADDRESS = re.compile(r"[\w.-]+:\d+")


def doubt(name: str) -> tuple[str, str] | None:
    """What is wrong with the name of a port (the end of a sentence), and the fix; None for any
    other name."""
    if name.startswith("~"):
        return "begins with '~', which only a shell expands", "write the whole path"
    if _ADDRESS.fullmatch(name):
        return "is an address on TCP without its scheme", f"did you mean socket://{name}?"
    if _WINDOWS.fullmatch(name) and sys.platform != "win32":
        return "is the name of a port on Windows", _LIST
    if found := _TYPOGRAPHIC.search(name):
        return f"has a U+{ord(found[0]):04X}", "write a plain quote, or none"
    if _MACOS.fullmatch(name) and sys.platform != "darwin" and not os.path.lexists(name):
        return "is the name of a port on macOS", _LIST
    if _BARE.fullmatch(name) and not os.path.lexists(name):
        return "is a path in this folder, and not there", f"did you mean /dev/{name}?"
    return None
