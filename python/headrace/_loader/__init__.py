"""What headrace.loader is made of: its options, its orders, and the steps of an epoch as a batch sampler."""
