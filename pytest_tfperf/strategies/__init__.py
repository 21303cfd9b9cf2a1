"""How training is distributed: one file per strategy. Only building a step needs TensorFlow."""
