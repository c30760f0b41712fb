"""The one vocabulary of events: kinds with their fields, words and numbers. Pure."""
