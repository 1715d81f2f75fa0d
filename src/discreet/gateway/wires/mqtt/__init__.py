"""The broker: one connection, what is published, and what is subscribed to."""
