"""Requests that a machine makes up from the OpenAPI document."""

from __future__ import annotations

import json
import os
from pathlib import Path

import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis.checks import (
    content_type_conformance,
    not_a_server_error,
    response_schema_conformance,
    status_code_conformance,
)
from serving import PICTURES

from ital.server.openapi import document

WEB = Path(__file__).parents[2] / "web"
EXAMPLES = int(os.environ.get("ITAL_EXAMPLES", "12"))
"""Of each operation."""
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]


def test_the_page_knows_the_api():
    """Its types are made of this document; `make web` writes it anew."""
    assert json.loads((WEB / "openapi.json").read_text()) == document()


def test_no_request_breaks_the_server(client, search, collection):
    """Nor is there an answer that the document does not tell of."""
    schema = schemathesis.openapi.from_asgi(
        "/api/v1/openapi.json", client.app, headers={"Host": "localhost"}
    )
    tried, seconds = set(), []
    there = {"c": collection, "s": search["id"]}
    for result in schema.get_all_operations():
        operation = result.ok()
        if operation.path.endswith("/events"):
            continue  # it never ends
        tried.add(operation.label)

        @settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))
        @given(case=operation.as_strategy(), known=st.booleans())
        def check(case, known):
            if known:  # some of what is made up meets what is there
                for name in there.keys() & case.path_parameters.keys():
                    case.path_parameters[name] = there[name]
                if "picture" in case.path_parameters:
                    case.path_parameters["picture"] %= PICTURES + 2
                if isinstance(case.body, dict) and "collection" in case.body:
                    case.body["collection"] = collection
            response = case.call_and_validate(headers={"Host": "localhost"}, checks=CHECKS)
            seconds.append(response.elapsed)

        check()
        if client.get(f"/api/v1/searches/{there['s']}").status_code == 404:
            body = {"collection": collection, "relevant": [3]}
            there["s"] = client.post("/api/v1/searches", json=body).json()["id"]
    assert len(tried) > 20
    print(f"{len(seconds)} requests, of which the longest took {max(seconds):.2f} s")
