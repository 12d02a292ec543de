"""Benchmarks: alphapath and its peers side by side.

python -m benchmarks NAME --data DIR [--repeats R] [--out DIR] [--quick]
"""
