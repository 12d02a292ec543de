"""The exact path over lambda of quadratic losses."""
