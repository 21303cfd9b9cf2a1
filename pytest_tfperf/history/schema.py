"""The tables of the database. Names begin with ``tfperf_``, as a team's database may hold other things."""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Float,
    ForeignKey,
    Integer,
    MetaData,
    String,
    Table,
    Text,
)

SCHEMA_VERSION = 1
"""1: the first one."""

metadata = MetaData()

_Id = BigInteger().with_variant(Integer, "sqlite")  # SQLite counts up for INTEGER PRIMARY KEY alone

schema = Table(
    "tfperf_schema",
    metadata,
    Column("version", Integer, primary_key=True, autoincrement=False),
)

sessions = Table(
    "tfperf_sessions",
    metadata,
    Column("id", _Id, primary_key=True),
    Column("digest", String(64), nullable=False, unique=True),  # SHA-256 of the report as JSON
    Column("started", String(20), nullable=False, index=True),  # UTC, ISO 8601
    Column("seconds", Float, nullable=False),
    Column("commit", Text, nullable=False),
    Column("dirty", Boolean, nullable=False),
    Column("against", Text, nullable=False),  # the other revision; empty where baselines were judged against
    Column("plugin", Text, nullable=False),
    Column("smoke", Text, nullable=False),  # why nothing was to be judged; empty in earnest
    Column("exit_status", Integer, nullable=False),
    Column("tally", Text, nullable=False),
    Column("settings", JSON, nullable=False),
    Column("arguments", JSON, nullable=False),
)

environments = Table(
    "tfperf_environments",
    metadata,
    Column("session_id", _Id, ForeignKey(sessions.c.id, ondelete="CASCADE"), primary_key=True),
    Column("device", String(8), primary_key=True),
    Column("name", Text, nullable=False),
    Column("digest", String(16), nullable=False),  # of the hard keys
    Column("hard", JSON, nullable=False),
    Column("soft", JSON, nullable=False),
)


def _interval(name: str) -> tuple[Column[float], Column[float], Column[float]]:
    """A figure, and the ends of its interval; these are NULL where one run shows no noise."""
    return Column(name, Float), Column(f"{name}_low", Float), Column(f"{name}_high", Float)


arms = Table(
    "tfperf_arms",
    metadata,
    Column("id", _Id, primary_key=True),
    Column("session_id", _Id, ForeignKey(sessions.c.id, ondelete="CASCADE"), nullable=False, index=True),
    Column("test", Text, nullable=False),  # node id without the replica count
    Column("replicas", Integer, nullable=False),
    Column("workload", Text, nullable=False),
    Column("strategy", Text, nullable=False),
    Column("variant", Text, nullable=False),
    Column("device", String(8), nullable=False),
    Column("environment", Text, nullable=False),  # name; empty where nothing was measured
    Column("environment_digest", String(16), nullable=False),
    Column("definition_digest", String(16), nullable=False),
    Column("own_reference", Boolean, nullable=False),  # the arm is T(1) itself
    Column("outcome", String(16), nullable=False),
    Column("verdict", String(16)),  # NULL where nothing was measured
    Column("rounds", Integer, nullable=False),
    *_interval("reference"),  # T(1), examples/s
    *_interval("throughput"),  # T(N), examples/s of the whole job
    *_interval("efficiency"),  # E(N), a fraction of N x T(1)
    *_interval("step_time"),  # seconds
)

runs = Table(
    "tfperf_runs",
    metadata,
    Column("arm_id", _Id, ForeignKey(arms.c.id, ondelete="CASCADE"), primary_key=True),
    Column("round", Integer, primary_key=True),
    Column("throughput", Float, nullable=False),
    Column("step_time", Float, nullable=False),
    Column("reference_throughput", Float),  # of the same round; NULL where it has no run of T(1)
    Column("reference_step_time", Float),
    Column("disturbed", Boolean, nullable=False),  # either of the two
)

acknowledgements = Table(
    "tfperf_acknowledgements",
    metadata,
    Column("id", _Id, primary_key=True),
    Column("test", Text, nullable=False),
    Column("replicas", Integer, nullable=False),
    Column("metric", String(16), nullable=False),  # reference, throughput or efficiency
    Column("device", String(8), nullable=False),
    Column("environment_digest", String(16), nullable=False),
    Column("definition_digest", String(16), nullable=False),
    Column("date", String(10), nullable=False),  # of the first night at the new level
    Column("log_change", Float, nullable=False),
    Column("made", String(20), nullable=False),
    Column("until", String(10), nullable=False),  # the last day on which it holds
    Column("by", Text, nullable=False),
    Column("reason", Text, nullable=False),
)
