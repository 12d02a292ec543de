"""Cross-validation fold by fold: training sets, fitted folds and their scores."""
