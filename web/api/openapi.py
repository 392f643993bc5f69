"""The addresses of the JSON API: functions whose parameters are read, checked and documented.

``web.api.document`` makes the OpenAPI document of the functions' parameters and of the answers in
``results.contract`` and ``web.contract``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, get_type_hints

from flask import Blueprint, Response, request

from web.contract.reading import AddressParts, NoParameters, Query

PREFIX = "/api"

Handler = Callable[..., Response]


@dataclass(frozen=True)
class ApiAddress:
    """An address: its rule, the function that answers, and more words for the document."""

    rule: str
    answers: Handler
    says: str


class ApiBlueprint(Blueprint):
    """A part of the API. ``says`` is for the document."""

    def __init__(self, name: str, module: str, says: str) -> None:
        super().__init__(name, module, url_prefix=PREFIX)
        self.says = says
        self.addresses: list[ApiAddress] = []

    def address(self, rule: str, says: str = "") -> Callable[[Handler], Handler]:
        """Register the decorated function for an address.

        It takes ``query``, a :class:`Query`, if there are parameters, and ``path``, an
        :class:`AddressParts`, if the rule has parts in angle brackets. Its docstring is the
        summary.
        """

        def register(answers: Handler) -> Handler:
            self.addresses.append(ApiAddress(rule, answers, says))
            self.add_url_rule(rule, view_func=_view(answers))
            return answers

        return register


def _view(answers: Handler) -> Handler:
    """Return the function that Flask calls with the parts of an address."""
    hints = get_type_hints(answers)
    query: type[Query] | None = hints.get("query")
    address_parts: type[AddressParts] | None = hints.get("path")

    @wraps(answers)
    def view(**parts: str) -> Response:
        read = (query or NoParameters).read(request.args)
        given: dict[str, Any] = {} if query is None else {"query": read}
        return (
            answers(**given)
            if address_parts is None
            else answers(**given, path=address_parts(**parts))
        )

    return view
