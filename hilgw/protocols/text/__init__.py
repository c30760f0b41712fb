"""Declared line protocols: patterns for lines, and steps that send a line and wait for another."""
