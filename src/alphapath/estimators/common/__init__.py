"""What several estimators share: parameters, inputs, problems, votes, updates."""
