"""What the benchmarks share: data, streams, timing, options, results."""
