"""Batches on an accelerator: copied ahead of the step that asks for them, by a thread and a stream of their own."""
