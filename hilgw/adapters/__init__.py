"""Adapters: one module per kind of hardware, found by name, imported only when used."""
