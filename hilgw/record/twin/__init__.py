"""`hilgw twin`: a real link beside Webots' fields, and a real robot beside the simulated one."""
