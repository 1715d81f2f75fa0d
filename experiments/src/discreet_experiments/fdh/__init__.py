"""FDH's experiments (Jiang, Huang, Wei)."""
