"""Bodies: the robot end of a control loop. One module or package per kind, each pure."""
