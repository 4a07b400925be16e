def measure_times(*a): raise SystemExit
