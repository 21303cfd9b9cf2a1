"""One view of what was decided, and what writes it down."""
