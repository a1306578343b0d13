"""`plan`: before anything is spent, what to keep, how far, what accuracy to expect, and what it will cost."""
