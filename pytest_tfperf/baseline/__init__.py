"""Stored measurements: YAML files that people review, read strictly and written atomically."""
