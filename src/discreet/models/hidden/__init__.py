"""Hidden Markov models: of a day, or without end."""
