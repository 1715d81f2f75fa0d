"""What comes in and goes out: HTTP, server-sent events, MQTT, OwnTracks and Home Assistant."""
