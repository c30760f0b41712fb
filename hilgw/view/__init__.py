"""How events are shown: one table of their kinds, for all surfaces. Pure."""
