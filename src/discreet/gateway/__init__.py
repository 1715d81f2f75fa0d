"""The gateway between a person's sources and the applications: for now, what its file of settings says."""
