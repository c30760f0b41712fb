"""Protocols: pure codecs in both directions, used by bodies and controllers alike."""
