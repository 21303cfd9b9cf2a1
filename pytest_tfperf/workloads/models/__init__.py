"""Built-in workloads, one family a file; the registry imports a file when its workload is asked for."""
