"""From a history to a person who is served: what `discreet setup` does in a terminal, and the page in a browser."""
