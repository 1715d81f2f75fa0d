"""A package that adds a mechanism, a format and a learner to discreet, by entry points alone."""
