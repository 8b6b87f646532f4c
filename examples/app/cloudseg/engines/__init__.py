"""Loops: `trainer` makes weights, `tester` uses and judges them."""
