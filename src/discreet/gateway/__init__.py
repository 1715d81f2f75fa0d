"""The gateway: between the sources of a person's context and applications that the person does not trust."""
