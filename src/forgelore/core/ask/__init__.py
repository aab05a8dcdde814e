"""Rules of asking: what of a text is read at once."""
