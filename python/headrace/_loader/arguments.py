"""The arguments that loaders have of the compiled list of options: in their signatures and docstrings, each once.

``src/loader/options/loader_settings.cpp`` is the list. A loader class says which of them it has by a parameter
``**options``.
"""

from __future__ import annotations

import inspect
import os
import re
import textwrap
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any, TypeVar

from headrace import _headrace
from headrace._loader.by_tokens import ByTokens
from headrace._loader.options import ShuffleShape
from headrace._support.argument_hints import refuse_unknown

C = TypeVar("C", bound=type)

_WIDTH = 116
#: The entry of a class's docstring that the list takes the place of.
_ENTRY = re.compile(r"^ {4}\*\*options: .*\n(?: {8}.*\n)*", re.MULTILINE)
#: Every option of ``headrace.Loader``, by its name.
OPTIONS: Mapping[str, Mapping[str, Any]] = {option["name"]: option for option in _headrace.loader_options()}


def takes_options(function: str, knobs: Mapping[str, Mapping[str, str]]) -> Callable[[C], C]:
    """Give a class the options of the list as keyword arguments, in place of ``**options`` of its ``__init__``.

    Its signature and docstring then have them. ``__init__`` gets those that were given and are not None.

    Args:
        function: What errors call the class.
        knobs: What to do in place of arguments that the class has not: options that are named here are left out.
    """

    def decorate(cls: C) -> C:
        init: Callable[..., None] = vars(cls)["__init__"]
        own = inspect.signature(init)
        kept = [p for p in own.parameters.values() if p.kind is not inspect.Parameter.VAR_KEYWORD]
        left_out = {name for group in knobs.values() for name in group}
        taken = [option for name, option in OPTIONS.items() if name not in own.parameters and name not in left_out]
        signature = own.replace(parameters=[*kept, *map(_parameter, taken)])
        names = {option["name"] for option in taken}

        @wraps(init)
        def call(self: Any, *args: Any, **given: Any) -> None:
            refuse_unknown(function, given, signature.parameters, knobs)
            init(self, *args, **{name: v for name, v in given.items() if v is not None or name not in names})

        call.__signature__ = signature  # type: ignore[attr-defined]
        types = {name: hint for name, hint in init.__annotations__.items() if name != "options"}
        call.__annotations__ = {**types, **{option["name"]: _type(option) for option in taken}}
        if "__new__" in vars(cls):  # of which inspect tells first
            vars(cls)["__new__"].__func__.__signature__ = signature
        type.__setattr__(cls, "__init__", call)
        plain = inspect.cleandoc(cls.__doc__ or "")  # as the compiler leaves it since Python 3.13
        cls.__doc__ = _ENTRY.sub(lambda _: "".join(map(_described, taken)), plain)
        return cls

    return decorate


def _parameter(option: Mapping[str, Any]) -> inspect.Parameter:
    kind = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(option["name"], kind, default=option["default"], annotation=option["annotation"])


def _type(option: Mapping[str, Any]) -> Any:
    """Return an annotation as the type that it names, for programs that ask for types of arguments."""
    known = {"Any": Any, "os": os, "ByTokens": ByTokens, "ShuffleShape": ShuffleShape}
    return eval(option["annotation"], known)


def _described(option: Mapping[str, Any]) -> str:
    text = f"{option['name']}: {option['doc']}. {option['more']}".rstrip()
    return textwrap.fill(text, _WIDTH, initial_indent=" " * 4, subsequent_indent=" " * 8) + "\n"
