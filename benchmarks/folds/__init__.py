"""Cross-validation and leave-one-out."""
