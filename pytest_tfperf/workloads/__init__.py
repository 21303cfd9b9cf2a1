"""What is trained: the workload decorator, the registry of workloads, the built-in models. Needs no TensorFlow."""
