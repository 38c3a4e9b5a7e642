"""Checking what a search has found."""

from __future__ import annotations

from fastapi import APIRouter

from ital.server import schemas
from ital.server.dependencies import CONFLICT, MISSING, Shared, Text

router = APIRouter(tags=["audits"])


@router.post("/searches/{s}/audit", status_code=201, responses=CONFLICT)
def begin_audit(s: Text, body: schemas.AuditBegin, server: Shared) -> schemas.AuditState:
    """Begin to check the pictures above a threshold, in the place of an audit before."""
    return server.audits.begin(s, body)


@router.get("/searches/{s}/audit", responses=MISSING)
def audit(s: Text, server: Shared) -> schemas.AuditState:
    """What an audit has found, and the pictures to look at next."""
    return server.audits.state(s)


@router.post("/searches/{s}/audit/answers", responses=CONFLICT)
def answer_audit(s: Text, body: schemas.Answers, server: Shared) -> schemas.AuditState:
    """Say whether pictures that were drawn match, or correct what was said of them."""
    return server.audits.answer(s, body)


@router.post("/searches/{s}/audit/end", responses=CONFLICT)
def end_audit(s: Text, body: schemas.Change, server: Shared) -> schemas.SearchState:
    """Forget an audit; what was said stays learnt."""
    return server.audits.end(s, body)
