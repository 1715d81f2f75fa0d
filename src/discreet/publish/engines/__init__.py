"""Where publishing runs: this machine's processes, or Spark."""
