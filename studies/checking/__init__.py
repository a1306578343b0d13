"""How `winnow check` judges labels: planted errors, development data, and the fit of its constants."""
