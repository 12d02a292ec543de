"""Trees over the nodes of a grid, and chains of solves along them."""
