"""Diagnosis of a shape error: which two axes differ, by which rule, and the likely cause."""
