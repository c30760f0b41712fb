"""`hilgw --version`."""

from __future__ import annotations

import sys

from hilgw import __version__


def show() -> None:
    """Our version first and at once; then the libraries, and whether their C forms are active."""
    from importlib.metadata import PackageNotFoundError, version

    from hilgw.framing import c_extensions

    print(f"hilgw {__version__} (Python {sys.version.split()[0]})")
    active = c_extensions()
    for name in ("pyserial", "pyserial-asyncio", "crcmod", "cobs", "PyYAML", "pydantic"):
        try:
            text = f"  {name} {version(name)}"
        except PackageNotFoundError:
            text = f"  {name} is missing: pip install {name}"
        if name in active:
            text += " (C)" if active[name] else " (pure Python: slower; install a C compiler)"
        print(text)
