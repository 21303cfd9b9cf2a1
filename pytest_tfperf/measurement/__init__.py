"""Timing a training loop, and what the numbers depend on."""
