"""The loaders that Headrace is compared with, written as their users would write them, at their best."""
