"""The state of a gateway, live or of a recording: folds of its events. Pure."""
