"""S-PPATP's experiments (Li and Sun 2020)."""
