"""Hidden topics behind events, learned over all people together."""
