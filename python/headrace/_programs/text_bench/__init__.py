"""``headrace bench text``: how fast text becomes tokens, and tokens become batches, beside the ways that users have."""
