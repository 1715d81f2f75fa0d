"""Tables of people's days or events: read, learned, released and published, by one process, several, or Spark.

Verbs of the command call these modules, and nothing here prints: what is said on the way goes to a `Listener`.
"""
