"""The study of issue 15."""
