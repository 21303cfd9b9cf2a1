"""Numbers in, records out; each method with its source."""
