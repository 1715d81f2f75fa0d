"""S-PPATP (Li and Sun 2020): events published attribute by attribute, or each with a probability of its own."""
