"""Change points that somebody knows of: why, and until when they do not count."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from sqlalchemy import Connection, insert, select

from pytest_tfperf.history.schema import acknowledgements
from pytest_tfperf.records.comparison import Metric


@dataclass(frozen=True)
class Acknowledgement:
    """Of one change point in one metric of an arm."""

    test: str
    replicas: int
    metric: Metric
    device: str
    environment_digest: str
    definition_digest: str
    date: str
    """First night at the new level."""
    log_change: float
    """How large the change was when it was acknowledged."""
    made: str
    """UTC, ISO 8601."""
    until: str
    """The last day on which it holds."""
    by: str
    reason: str


def store_acknowledgements(connection: Connection, made: list[Acknowledgement]) -> None:
    connection.execute(insert(acknowledgements), [asdict(each) for each in made])


def stored_acknowledgements(connection: Connection) -> tuple[Acknowledgement, ...]:
    """All of them, those that have expired too: oldest first."""
    names = [column.name for column in acknowledgements.columns if column.name != "id"]
    query = select(*(acknowledgements.c[name] for name in names)).order_by(acknowledgements.c.id)
    return tuple(Acknowledgement(**row) for row in connection.execute(query).mappings())
