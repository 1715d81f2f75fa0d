"""What is on disk: the journal of what was released, the person's own store, and their backups."""
