"""The problem on one simulated day: a story for the terminal and a page."""
