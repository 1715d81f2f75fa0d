"""Slots at the gateway: who decides, when, from which reading, and how a stream is resumed."""
