"""What is wrong with data: duplicates, leaks, outliers, impossible values, columns and classes that mislead."""
