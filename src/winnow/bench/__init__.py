"""The record: every registered method under one protocol, beside what is free."""
