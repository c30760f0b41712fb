"""The session of a Webots controller that is connected to hilgw as to Webots."""
