"""Protocols: pure codecs for both directions, shared by adapters, bodies and controllers."""
