"""The work of a search over a grid of parameters: candidates, chains, scores."""
