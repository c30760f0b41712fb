"""Checks across parts, made on whatever passed the checks of its own."""

from __future__ import annotations

from hilgw.config.context import Context
from hilgw.config.document import Document
from hilgw.config.places import Diagnostic


def check(document: Document, context: Context) -> list[Diagnostic]:
    """Adds errors to the document's problems; gives the warnings."""
    return []
