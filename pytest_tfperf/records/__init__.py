"""Frozen records that travel between rooms; no behaviour beyond derived values."""
