"""Many people's readings as they arrive: one decision a slot, with state."""
