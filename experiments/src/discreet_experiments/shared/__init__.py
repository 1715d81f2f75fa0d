"""What the papers' experiments share: people, systems, runs, figures and tables."""
