"""From a history to a person's files: one way of steps, which the terminal and the owner's page both follow."""
