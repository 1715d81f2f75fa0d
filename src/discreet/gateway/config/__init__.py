"""Settings: `discreet.toml`, section by section."""
