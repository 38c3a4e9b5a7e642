"""Searches as the API shows them."""

from __future__ import annotations

import numpy as np

from ital import insight
from ital.answers import Answer
from ital.audit import Audit
from ital.checks import Identifier, IntArray
from ital.intervals import Estimate
from ital.server import schemas
from ital.server.arrangement import Arrangement
from ital.server.database import EventRow, SearchRow
from ital.server.memory import Live, Opened
from ital.server.problems import UnknownError


def info(row: SearchRow, events: list[EventRow]) -> schemas.SearchInfo:
    """A search in a list."""
    labels: dict[str, int] = {}
    uploads: dict[str, str] = {}
    for event in events[: row.position]:
        labels |= event.labels
        uploads |= event.uploads
    relevant = [image for image, label in labels.items() if label == 1]
    return schemas.SearchInfo(
        id=row.id,
        name=row.name,
        collection=row.collection,
        created=row.created,
        updated=row.updated,
        revision=row.revision,
        rounds=sum(event.kind == "answer" for event in events[: row.position]),
        relevant=len(relevant),
        irrelevant=sum(label == -1 for label in labels.values()),
        cover=next((int(image) for image in relevant if int(image) >= 0), None),
        cover_upload=next((uploads[image] for image in relevant if image in uploads), None),
        text=row.text,
    )


def asking(opened: Opened) -> schemas.SearchState:
    """A search with its questions, which must have been chosen, and nothing that takes longer."""
    live = opened.live
    assert live.batch is not None
    known = acknowledged(opened.row, opened.events, opened.audit is not None)
    return known.model_copy(
        update={
            "learning": False,
            "batch": _pictures(live, live.batch),
            "summary": "How many pictures match is being counted.",
            "text_problem": live.text_problem,
        }
    )


def state(opened: Opened) -> schemas.SearchState:
    """The same with where the search stands."""
    return asking(opened).model_copy(
        update={
            "counted": True,
            "progress": _progress(opened),
            "outlook": opened.live.outlook,
            "summary": _summary(opened.live),
        }
    )


def acknowledged(row: SearchRow, events: list[EventRow], audit: bool) -> schemas.SearchState:
    """A search as the database has it, of which the model has yet to learn the last change."""
    return schemas.SearchState(
        **info(row, events).model_dump(),
        settings=schemas.Settings(**row.settings),
        learning=True,
        counted=False,
        batch=[],
        can_undo=row.position > 1,
        can_redo=row.position < len(events),
        progress=_noted(events[: row.position]),
        outlook=None,
        summary="This search is learning what was said.",
        audit=audit,
        text_problem=None,
    )


def _pictures(live: Live, images: IntArray) -> list[schemas.Picture]:
    rows = [live.collection.pool.row(Identifier(int(one))) for one in images]
    return [
        schemas.Picture(
            id=int(one), name=live.collection.paths[place], stack=len(live.stack(place))
        )
        for one, place in zip(images, rows, strict=True)
        if place is not None
    ]


def _progress(opened: Opened) -> list[schemas.Progress]:
    """Where the search stood after each round, and stands now."""
    before = opened.counted[:-1]
    progress = _noted(before)
    # Settings and pictures may have changed since the last round.
    if opened.live.relevant is not None:
        progress.append(schemas.Progress(round=len(before), **standing(opened.live.relevant)))
    return progress


def _noted(events: list[EventRow]) -> list[schemas.Progress]:
    """Where the search stood after each round, as it was noted then."""
    known = schemas.Progress.model_fields
    return [
        schemas.Progress(round=number, **{name: noted[name] for name in noted if name in known})
        for number, noted in enumerate(event.insight for event in events)
        if noted is not None
    ]


def standing(relevant: Estimate) -> dict[str, float]:
    """What is noted of a round."""
    return {"relevant": relevant.value, "low": relevant.low, "high": relevant.high}


def _summary(live: Live) -> str:
    """Where the search stands, in a sentence."""
    if not live.search.model.is_informed:
        if live.text_problem is not None:
            return "The words that this search began with do not count any more."
        return "The pictures that this search began with have gone."
    relevant, change = live.relevant, live.outlook
    if relevant is None:
        if live.batch is None or not len(live.batch):
            return "There is nothing left to ask."
        return (
            "So far only likeness to what you began with is known. "
            "A few answers will tell which pictures match, and how many."
        )
    count, low, high = (round(one) for one in (relevant.value, relevant.low, relevant.high))
    match = "About one picture matches" if count == 1 else f"About {count:,} pictures match"
    if low < high:
        match += f", between {low:,} and {high:,}"
    if change is None:
        return f"{match}; there is nothing left to ask."
    words = ((0.05, "will change little"), (0.3, "will still change some of them"))
    teach = next((word for most, word in words if change < most), "will change much")
    return f"{match}; the next round {teach}."


def results(
    opened: Opened, offset: int, limit: int, arrangement: Arrangement
) -> schemas.ResultPage:
    """A window on the results, in the order that is asked for, and of each stack the best alone."""
    live = opened.live
    places = live.best_of_stacks(arrangement.places(live.search.ranking(), live.collection))
    return schemas.ResultPage(
        revision=opened.row.revision,
        total=len(places),
        offset=offset,
        results=_results(live, places[offset : offset + limit]),
    )


def stack(opened: Opened, picture: int) -> schemas.ResultPage:
    """All pictures of the stack of one, the best first."""
    live = opened.live
    row = live.collection.pool.row(Identifier(picture))
    if row is None:
        raise UnknownError(f"there is no picture {picture}")
    places = np.flatnonzero(np.isin(live.search.ranking().rows, live.stack(row)))
    return schemas.ResultPage(
        revision=opened.row.revision,
        total=len(places),
        offset=0,
        results=_results(live, places),
    )


def _results(live: Live, places: IntArray) -> list[schemas.Result]:
    """What is at some places of the ranking."""
    answers, ranking = live.search.answers, live.search.ranking()
    rows = ranking.rows[places]
    ids = live.collection.pool.identifiers(rows)
    columns = (places + 1, rows, ids, ranking.probabilities[places], ranking.means[places])
    return [
        schemas.Result(
            id=identifier,
            name=live.collection.paths[place],
            stack=len(live.stack(place)),
            rank=rank,
            probability=probability,
            mean=mean,
            label=Answer.of(answers[identifier]).value if identifier in answers else None,
        )
        for rank, place, identifier, probability, mean in zip(
            *(column.tolist() for column in columns), strict=True
        )
    ]


def thresholds(opened: Opened) -> schemas.Thresholds:
    """Counts, precision and recall at all thresholds."""
    points = opened.live.thresholds
    return schemas.Thresholds(
        revision=opened.row.revision,
        balanced=insight.balanced(points).probability,
        thresholds=[
            schemas.ThresholdInfo(
                probability=one.probability,
                count=one.count,
                stacks=int(np.searchsorted(opened.live.best, one.count)),
                precision=schemas.Estimate(**vars(one.precision)),
                recall=schemas.Estimate(**vars(one.recall)),
            )
            for one in points
        ],
    )


def advice(opened: Opened, threshold: float | None) -> schemas.AdviceAt:
    """What the questions that are asked now, which must have been chosen, are likely to bring."""
    live = opened.live
    assert live.batch is not None
    if threshold is None:
        threshold = insight.balanced(live.thresholds).probability
    found = insight.advice(live.search, live.batch, threshold)
    told = None if found is None else schemas.Advice(**vars(found), sentence=found.sentence)
    return schemas.AdviceAt(revision=opened.row.revision, advice=told)


def audit(opened: Opened, found: Audit) -> schemas.AuditState:
    """What an audit has found, and what to look at next."""
    kept = opened.audit
    assert kept is not None
    report = found.report(kept.level)
    last, *after = (one.audit for one in opened.events[opened.row.position - 1 :])
    return schemas.AuditState(
        revision=opened.row.revision,
        begun=kept.created,
        threshold=kept.threshold,
        level=kept.level,
        taken=report.taken,
        right=schemas.Interval(**vars(report.right)),
        precision=schemas.Interval(**vars(report.precision)),
        missed=schemas.Interval(**vars(report.missed)),
        recall=schemas.Interval(**vars(report.recall)),
        answers=report.answers,
        unsure=report.unsure,
        planned=min(kept.planned, sum(map(len, found.strata))),
        can_undo=last == kept.revision,
        can_redo=after[:1] == [kept.revision],
        sentence=report.sentence,
        advice=report.advice,
        batch=_pictures(opened.live, found.ask(kept.batch)),
        said=[
            _labelled(opened.live, int(image), label, {})
            for image, label in opened.audit_answers.items()
        ],
    )


def history(opened: Opened) -> schemas.History:
    """All rounds, those that were undone among them."""
    rounds = [
        schemas.HistoryRound(
            number=event.number,
            kind="query" if event.kind == "query" else "answer",
            created=event.created,
            undone=event.number > opened.row.position,
            labels=[
                _labelled(opened.live, int(image), label, event.uploads)
                for image, label in event.labels.items()
            ],
        )
        for event in opened.events
    ]
    return schemas.History(revision=opened.row.revision, rounds=rounds)


def explanation(opened: Opened, picture: int) -> schemas.Explanation:
    """What pulls a picture up, and what pushes it down."""
    live = opened.live
    model, ranking = live.search.model, live.search.ranking()
    place = model.pool.row(Identifier(picture))
    if place is None:
        raise UnknownError(f"there is no picture {picture}")
    parts = live.search.explain(picture) if model.is_informed else {}
    words = _by_words(live, place, sum(parts.values()))
    total = sum(abs(part) for part in (*parts.values(), words)) or 1.0
    labels = {image: label for one in opened.counted for image, label in one.labels.items()}
    uploads = {image: name for one in opened.counted for image, name in one.uploads.items()}
    influences = [
        schemas.Influence(
            **_labelled(live, image, labels[str(image)], uploads).model_dump(),
            share=part / total,
        )
        for image, part in parts.items()
    ]
    rank = np.argmax(ranking.rows == place)
    return schemas.Explanation(
        revision=opened.row.revision,
        # That of the results, which never rises along them.
        probability=float(ranking.probabilities[rank]),
        mean=float(ranking.means[rank]),
        influences=influences,
        words=words / total if live.search.text else None,
    )


def _by_words(live: Live, place: int, labels: float) -> float:
    """What words add to the mean of a picture: all that neither the labels do nor what is common.

    What answers have told of how far words are to be trusted is in the part of the labels.
    """
    model = live.search.model
    if not live.search.text:
        return 0.0
    return float(
        model.moments(np.array([place]))[0][0] - model.prior.mean + model.belief.border - labels
    )


def _labelled(live: Live, image: int, label: int, uploads: dict[str, str]) -> schemas.Labelled:
    if image < 0:
        name, identifier, upload = "a picture from outside", None, uploads.get(str(image))
    else:
        place = live.collection.pool.row(Identifier(image))
        name = "a picture that has gone" if place is None else live.collection.paths[place]
        identifier, upload = image, None
    return schemas.Labelled(id=identifier, name=name, upload=upload, label=Answer.of(label).value)
