"""Tables and columns of a SQLite database."""

import sqlite3
from dataclasses import dataclass, field
from typing import Any

MAX_TABLES = 500
_KINDS = {"table": "table", "view": "view", "virtual": "virtual table", "shadow": "shadow table"}
_HIDDEN = 1


@dataclass(frozen=True, slots=True)
class Column:
    """Declaration of a column."""

    name: str
    declared_type: str
    key_position: int
    not_null: bool
    generated: bool


@dataclass(frozen=True, slots=True)
class SchemaTable:
    """A table or a view."""

    name: str
    kind: str
    sql: str
    has_rowid: bool
    columns: list[Column] = field(default_factory=list)
    foreign_keys: dict[str, str] = field(default_factory=dict)
    index_count: int = 0

    @property
    def quoted(self) -> str:
        """Its name as an SQL identifier."""
        return quote_identifier(self.name)

    def describe(self) -> dict[str, Any]:
        """Return the table's description for the page."""
        columns = [
            [c.name[:200], c.declared_type[:80], self._roles(c)] for c in self.columns[:1000]
        ]
        return {
            "name": self.name,
            "kind": self.kind,
            "sql": self.sql[:20_000],
            "columns": columns,
            "indexes": self.index_count,
        }

    def _roles(self, column: Column) -> list[str]:
        roles = ["key"] if column.key_position else []
        if column.name in self.foreign_keys:
            roles.append(f"→ {self.foreign_keys[column.name][:120]}")
        if column.not_null:
            roles.append("not null")
        if column.generated:
            roles.append("generated")
        return roles


def quote_identifier(name: str) -> str:
    """Return a name quoted as an SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def list_tables(connection: sqlite3.Connection) -> list[SchemaTable]:
    """Return all tables and views except internal and shadow tables."""
    sql = {
        (name, kind): str(text or "")
        for name, kind, text in connection.execute("SELECT name, type, sql FROM sqlite_schema")
    }
    listed = connection.execute("PRAGMA table_list").fetchall()
    tables = []
    for schema, name, kind, _columns, without_rowid, _strict in sorted(listed, key=_order):
        if schema != "main" or name.startswith("sqlite_") or kind == "shadow":
            continue
        text = sql.get((name, "view" if kind == "view" else "table"), "")
        tables.append(
            _table(connection, name, kind, text, has_rowid=kind == "table" and not without_rowid)
        )
        if len(tables) == MAX_TABLES:
            break
    return tables


def _order(row: tuple[str, str, str]) -> tuple[bool, str]:
    return row[2] == "view", row[1].casefold()


def _table(
    connection: sqlite3.Connection, name: str, kind: str, sql: str, *, has_rowid: bool
) -> SchemaTable:
    label = _KINDS.get(kind, kind)
    try:
        columns = _columns(connection, name)
        foreign = {
            row[3]: f"{row[2]}.{row[4]}" if row[4] else row[2]
            for row in _pragma(connection, "foreign_key_list", name)
        }
        indexes = len(_pragma(connection, "index_list", name))
    except sqlite3.DatabaseError:
        return SchemaTable(name, label, sql, has_rowid)
    return SchemaTable(name, label, sql, has_rowid, columns, foreign, indexes)


def _columns(connection: sqlite3.Connection, name: str) -> list[Column]:
    return [
        Column(str(row[1]), str(row[2] or ""), int(row[5]), bool(row[3]), row[6] in (2, 3))
        for row in _pragma(connection, "table_xinfo", name)
        if row[6] != _HIDDEN
    ]


def _pragma(connection: sqlite3.Connection, pragma: str, table: str) -> list[Any]:
    return connection.execute(f"PRAGMA {pragma}({quote_identifier(table)})").fetchall()
