"""Webots world files (.wbt): syntax, robots, obstacles, and the configuration made from them.

Webots reference manual, chapter "Nodes and API functions"; guide, "Webots world files".
"""
