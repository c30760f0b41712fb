"""Loops: a controller and a body of any kind, joined; limits, failsafe, figures."""
