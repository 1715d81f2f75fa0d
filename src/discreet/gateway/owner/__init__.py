"""What the owner's page asks for, and the routes that answer it."""
