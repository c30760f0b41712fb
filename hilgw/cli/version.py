"""`hilgw --version`: kept clear of slow imports."""

from __future__ import annotations

import os
import sys

from hilgw import __version__

LIBRARIES = ("pyserial", "pyserial-asyncio", "crcmod", "cobs", "PyYAML", "pydantic")


def show() -> None:
    """Our version, then the libraries and whether their C forms are active."""
    from hilgw.framing.c_forms import c_extensions

    print(f"hilgw {__version__} (Python {sys.version.split()[0]})")
    versions = installed()
    active = c_extensions()
    for name in LIBRARIES:
        found = versions.get(_normal(name))
        text = f"  {name} {found}" if found else f"  {name} is missing: pip install {name}"
        if name in active:
            text += " (C)" if active[name] else " (pure Python: slower; install a C compiler)"
        print(text)


def installed() -> dict[str, str]:
    """Distribution -> version, read off the names of the folders the installer made.

    importlib.metadata says the same and costs as much as all else here together.
    """
    found: dict[str, str] = {}
    for folder in sys.path:
        try:
            names = os.listdir(folder or ".")  # noqa: PTH208 - pathlib costs a tenth of the start
        except OSError:
            continue
        for name in names:
            if name.endswith((".dist-info", ".egg-info")):
                distribution, _, version = name.rpartition(".")[0].partition("-")
                found.setdefault(_normal(distribution), version)
    return found


def _normal(name: str) -> str:
    return name.replace("-", "_").lower()
