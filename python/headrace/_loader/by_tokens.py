"""ByTokens: batches by a budget of rows, where samples are ragged."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from headrace._support.checks import one_of, whole_number


@dataclass(frozen=True)
class ByTokens:
    """Batches of as many samples as a budget of rows holds: ``hr.Loader(events, batch=hr.ByTokens(32768))``.

    For samples of unequal length: events, documents. All ranks make equally many steps. With ``shuffle=`` or a sampler
    every step holds long and short samples alike; without, samples come in order. With ``layout="padded"`` the budget
    counts padding too, and with ``shuffle=`` or a sampler a step holds samples of like lengths.

    Args:
        tokens: Most rows of a batch on each rank, counted in the ragged fields. A sample without rows costs nothing;
            padded, it costs what its batch is padded to.
        max_samples: Most samples of a batch on each rank. Default: no limit.
        too_long: ``"error"``: samples that are longer than the budget are an error when the loader is made.
            ``"alone"``: they come in steps of one sample a rank, which are above the budget.
        lanes: The largest number of ranks that the steps are planned for. Fewer ranks get the same steps, several lanes
            each: then the budget of a rank is that of its lanes together. Default: the ranks of the first run.
        lookahead: Steps that are planned together: the more, the more alike they are, and the more of the data is read
            at once.

    Raises:
        InvalidArgumentError: A number is out of range.
    """

    tokens: int
    max_samples: int | None = None
    too_long: str = "error"
    lanes: int | None = None
    lookahead: int = 64

    def __post_init__(self) -> None:
        """Check. Ranges are the engine's to say, but for what it takes to mean that nothing is given."""
        whole_number("tokens", self.tokens, least=1)
        for name in ("max_samples", "lanes"):
            if getattr(self, name) is not None:
                whole_number(name, getattr(self, name), least=1)
        one_of("too_long", self.too_long, ("error", "alone"))
        whole_number("lookahead", self.lookahead, least=1)

    def _as_value(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if value is not None}
