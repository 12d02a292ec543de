"""Plots by matplotlib, with the interface of scikit-learn's displays."""
