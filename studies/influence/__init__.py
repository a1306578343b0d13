"""What the influence room promises, checked by retraining."""
