"""The process that stops the robots of a gateway that does not run any more."""

NAME = "robot-guard"
"""The name of the process: a kill of all processes named hilgw or python does not find it."""
