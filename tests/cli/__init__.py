"""The command, as people and pipes use it."""
