"""Models in the files and classes of LIBSVM, LIBLINEAR and scikit-learn."""
