"""Newton's method for smooth SVMs, and what it gives for removed instances."""
