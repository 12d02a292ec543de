"""One fit at a time: seconds, memory and the exact optimum."""
