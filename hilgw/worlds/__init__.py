"""Webots world files (.wbt): their syntax, the robots and obstacles in them, and the configuration
made of these. Webots reference manual, chapter "Nodes and API functions"; guide, "Webots world
files"."""
