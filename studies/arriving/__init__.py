"""New data arrive: is a pruning that goes on from an earlier run as good as starting over, and how much cheaper?"""
