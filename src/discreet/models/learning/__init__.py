"""Learning habits from days, and how well they predict later ones."""
