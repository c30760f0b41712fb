"""`hilgw twin`: a real link next to Webots' fields, and a real robot next to the simulated one."""
