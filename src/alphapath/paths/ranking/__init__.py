"""Exact paths of ranking models, and NDCG along them."""
