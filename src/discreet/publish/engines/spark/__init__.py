"""Publishing, learning, releasing and evaluating on Apache Spark."""
