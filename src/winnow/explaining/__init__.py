"""What users ask about single examples and classes: `explain`, and the pictures that pages show."""
