"""What five methods make possible together: the exact weighted head, why a mistake was made, a narrowed probe."""
