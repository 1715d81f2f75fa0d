"""Days without end: brute force, a slow twin of the programme, and mechanisms that break it."""
