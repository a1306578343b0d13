"""The record: every method under one protocol on several data sets, and how it depends on size."""
