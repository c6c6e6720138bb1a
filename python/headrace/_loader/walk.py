"""Walk: a loader goes through the steps of its batch sampler, and hands out the batch that each stands for."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from headrace._loader.steps import Delivered, Step
from headrace._support.checks import invalid


class Walk:
    """Where the last pass over a loader's steps is."""

    def __init__(self) -> None:
        self._of: object = None  # what the steps of the pass have in common
        self._batches: Iterator[Any] = iter(())
        self._position = 0  # samples before the next step

    def deliver(self, step: Step) -> Delivered:
        """Return the batch of a step: the next of the walk through its epoch, or of a new walk that begins there."""
        loader = step.loader
        if self._of is not step.walk or self._position != step.first_sample:
            if self._of is step.walk and loader._native.report().world_size > 1:
                raise invalid(
                    f"the batch after {self._position} samples of epoch {step.epoch} was left out, and one after "
                    f"{step.first_sample} asked for: does Accelerate divide the batches of a loader that divides them?",
                    "Do not pass the loader to prepare_data_loader: each rank gets its part without.",
                )
            loader._go_to_samples(step.epoch, step.first_sample)
            batches = iter(loader)
        else:
            batches = self._batches
        self._of, self._batches = None, iter(())  # a walk that fails or ends does not keep the epoch
        batch = next(batches)
        if not step.is_last:
            self._of, self._batches = step.walk, batches
            self._position = loader._native.step_end(step.epoch, step.first_sample)
        return Delivered(batch)
