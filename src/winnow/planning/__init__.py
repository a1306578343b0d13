"""`plan`: before any long training, what to keep, how much, what accuracy to expect, and what it will cost."""
