"""Why something moved."""
