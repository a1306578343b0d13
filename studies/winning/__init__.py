"""Is the default worth using: against random, against everything for the same number of steps, and in time?"""
