"""Effects and their intervals against a baseline, and the verdicts made of them."""
