"""Names of parametrised tests that are the same in each process: workers compare what they have collected."""

import re


def text_of(value: object) -> str:
    """Return a value as text, without the address that objects of no name show."""
    return re.sub(r" at 0x[0-9a-f]+", "", str(value))
