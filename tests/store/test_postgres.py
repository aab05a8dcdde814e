"""What is PostgreSQL's own: tables that equal SQLite's, addresses, rights, texts it cannot keep, connections that end."""

import re
import subprocess
import sys
import threading

import psycopg
import pytest
from samples import item, numbers, project, save

import postgres
from forgelore.errors import ConfigError, InvalidValue, NewerStore, NoStore, Refused, StoreError
from forgelore.store.filters import Filters
from forgelore.store.postgres.connection import PostgresStore
from forgelore.store.postgres.dialect import rewrite
from forgelore.store.postgres.fulltext import search_words
from forgelore.store.postgres.schema import open_postgres
from forgelore.store.postgres.words import collect_words, parse_expression
from forgelore.store.sqlite.check import find_word_damage
from forgelore.store.sqlite.connection import CODE_REMADE, FULL_TEXTS, VOCABULARY
from forgelore.store.sqlite.schema import newest_version, open_store

pytestmark = pytest.mark.postgres


@pytest.fixture
def address():
    return postgres.empty_database()


@pytest.fixture
def store(address):
    store = open_postgres(address)
    yield store
    store.close()


@pytest.fixture
def nobodys():
    """A database without any table."""
    address = postgres.new_database()
    yield address
    postgres.drop_database(address)


def sqlite_tables():
    """Table -> its columns, the key and what each column refers to; full text left out."""
    store = open_store(":memory:", now_ms=lambda: 0)
    own = (*FULL_TEXTS.values(), VOCABULARY, *CODE_REMADE)
    named = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
    tables = [name for (name,) in store.rows(named) if not name.startswith(own)]
    found = {}
    for table in tables:
        columns = store.rows("SELECT name, pk FROM pragma_table_info(?)", table)
        key = tuple(name for name, place in sorted(columns, key=lambda one: one[1]) if place)
        references = {
            row[0]: row[1] for row in store.rows('SELECT "from", "table" FROM pragma_foreign_key_list(?)', table)
        }
        found[table] = ({name for name, _ in columns}, key, references)
    store.close()
    return found


def postgres_tables(store):
    columns, keys, references = {}, {}, {}
    asked = "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public'"
    for table, column in store.rows(asked):
        columns.setdefault(table, set()).add(column)
    constraints = """
        SELECT c.conrelid::regclass::text, c.contype::text, a.attname, c.confrelid::regclass::text
        FROM pg_constraint c, unnest(c.conkey) WITH ORDINALITY k(number, place)
        JOIN pg_attribute a ON TRUE
        WHERE a.attrelid = c.conrelid AND a.attnum = k.number AND c.contype IN ('p', 'f')
        ORDER BY c.oid, k.place
    """
    for table, kind, column, target in store.connection.execute(constraints).fetchall():
        if kind == "p":
            keys[table] = (*keys.get(table, ()), column)
        else:
            references.setdefault(table, {})[column] = target
    return {table: (columns[table], keys.get(table, ()), references.get(table, {})) for table in columns}


def test_both_engines_have_the_same_tables_columns_and_keys(store):
    theirs, ours = sqlite_tables(), postgres_tables(store)
    assert ours.pop("document_words")
    columns, *rest = ours["chunks"]
    ours["chunks"] = (columns - {"half"}, *rest)
    assert ours == theirs


def test_an_address_with_a_password_is_refused_and_the_password_is_not_repeated():
    for address in (
        "postgresql://ann:s3cret@localhost/x",
        "postgresql://localhost/x?password=s3cret",
        "postgresql://a:s3cret@[x/y",
    ):
        with pytest.raises(ConfigError) as refused:
            PostgresStore(address)
        assert "s3cret" not in f"{refused.value.message} {refused.value.hint}"


def test_a_server_that_is_not_there_is_an_error_with_a_hint(tmp_path):
    with pytest.raises(StoreError, match="cannot reach") as error:
        open_postgres(f"postgresql://ann@/x?host={tmp_path}")
    assert "server runs" in error.value.hint


def test_a_database_without_a_history_is_not_made_by_reading(nobodys):
    with pytest.raises(NoStore, match="no history"):
        open_postgres(nobodys, create=False)
    with psycopg.connect(nobodys) as connection:
        assert connection.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").fetchone() == (0,)


def test_two_that_open_a_new_database_at_once_make_its_tables_once(nobodys):
    errors = []

    def work():
        try:
            open_postgres(nobodys).close()
        except StoreError as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    store = open_postgres(nobodys, create=False)
    assert (errors, store.value("SELECT max(version) FROM schema_version")) == ([], newest_version())
    store.close()


def test_a_database_of_a_newer_program_is_refused(store, address):
    store.run("INSERT INTO schema_version (version, name, checksum, applied_at) VALUES (999, 'later', '', 0)")
    try:
        with pytest.raises(NewerStore):
            open_postgres(address)
    finally:
        store.run("DELETE FROM schema_version WHERE version = 999")


def test_nul_and_halves_of_characters_are_replaced(store):
    known = project(store)
    store.run("UPDATE projects SET description = ? WHERE id = ?", "a\0b \ud83d c \ud83d\ude00", known)
    assert store.value("SELECT description FROM projects") == "a\ufffdb \ufffd c \U0001f600"


def test_no_value_is_read_as_sql(store):
    for value in ("' OR TRUE --", "\\'; DROP TABLE items; --", "%s %(x)s $1 ?", '{a,"b\\', "$$x$$"):
        assert store.value("SELECT ?", value) == value
        assert numbers(store, Filters(authors=(value,), labels=(value,), milestones=(value,))) == []
    save(store, project(store), item(1))
    assert numbers(store, Filters()) == [1]


def test_a_connection_that_was_cut_is_made_again(store):
    known = project(store)
    pid = store.value("SELECT pg_backend_pid()")
    with psycopg.connect(postgres.server(), autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(%s)", [pid])
    assert numbers(store, Filters()) == []
    pid = store.value("SELECT pg_backend_pid()")
    with pytest.raises(StoreError, match="cannot reach"), store.transaction():
        save_one = item(1)
        with psycopg.connect(postgres.server(), autocommit=True) as other:
            other.execute("SELECT pg_terminate_backend(%s)", [pid])
        store.run("UPDATE projects SET url = 'x' WHERE id = ?", known)
    assert store.value("SELECT url FROM projects WHERE id = ?", known) is None
    save(store, known, save_one)
    assert numbers(store, Filters()) == [1]


def test_a_user_who_may_only_read_reads_and_is_told_when_writing(store, address):
    save(store, project(store), item(1))
    role = f"reader_{address.partition('?')[0].rpartition('/')[2]}"
    with psycopg.connect(postgres.server(), autocommit=True) as owner:
        owner.execute(f"DROP ROLE IF EXISTS {role}")
        owner.execute(f"CREATE ROLE {role} LOGIN")
    store.run_script(f"GRANT SELECT ON ALL TABLES IN SCHEMA public TO {role}")
    try:
        reader = open_postgres(re.sub(r"//\w+@", f"//{role}@", address), create=False)
        assert numbers(reader, Filters()) == [1]
        with pytest.raises(StoreError, match="permission denied") as error:
            project(reader, "acme/api")
        assert "owner" in error.value.hint
        reader.close()
    finally:
        store.run_script(f"DROP OWNED BY {role}")
        store.run_script(f"DROP ROLE {role}")


def test_what_is_not_there_yet_is_refused_with_a_hint(store):
    with pytest.raises(Refused, match="not there on PostgreSQL yet") as refused:
        find_word_damage(store)
    assert "docs/postgres.md" in refused.value.hint


@pytest.mark.parametrize(
    ("expression", "query"),
    [
        ('("auth") AND ("token" OR "tokens"*)', "( 'auth' & ( 'token' | 'token':* ) )"),
        ('("connection reset")', "( 'connect' <-> 'reset' )"),
        ('{title text} : ("it-s")', "( 'it':AD <-> 's':AD )"),
        ('"a" NOT ("b" OR "c")', "( 'a' & !( ( 'b' | 'c' ) ) )"),
        ("title : crash OR leak", "( 'crash':A | 'leak' )"),
        ('"" AND "a"', ""),
        ('"" OR "a"', "'a'"),
    ],
)
def test_an_expression_is_asked_as_a_tsquery(store, expression, query):
    assert parse_expression(expression).query == query
    assert search_words(store, expression, 10) == []


@pytest.mark.parametrize("expression", ['"a', "NEAR(a b)", "a AND", "(a", "nothing : a", "^a", "a + b", ")", "AND"])
def test_full_text_syntax_that_has_no_counterpart_is_refused(expression):
    with pytest.raises(InvalidValue, match="on PostgreSQL"):
        parse_expression(expression)


def test_words_beyond_the_limits_of_a_tsvector_are_cut(store):
    many = " ".join(f"word{number}x" for number in range(90_000)) + " common" * 1000 + " " + "y" * 5_000
    found = collect_words([("text", many)])
    assert found.counts["common"] == 1000
    length = store.value("SELECT length(CAST(? AS tsvector))", found.vector)
    assert 40_000 < length < 90_000


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("SELECT a FROM t WHERE b COLLATE NOCASE IN (?, '@' || ?1)", "SELECT a FROM t WHERE lower(b) IN (lower(§), lower('@' || §))"),
        ("SELECT max(a, b), max(c) FROM t", "SELECT greatest(a, b), max(c) FROM t"),
        ("SELECT a FROM t ORDER BY closed_at DESC LIMIT 1", "SELECT a FROM t ORDER BY closed_at DESC NULLS LAST LIMIT 1"),
        ("SELECT a FROM t WHERE b = '?'", "SELECT a FROM t WHERE b = '?'"),
        ("INSERT INTO jobs (a) VALUES (?) ON CONFLICT (a) DO UPDATE SET version = version + 1", "INSERT INTO jobs (a) VALUES (§) ON CONFLICT (a) DO UPDATE SET version = jobs.version + 1"),
    ],
)  # fmt: skip
def test_a_statement_is_rewritten(sql, expected):
    assert " ".join("§".join(rewrite(sql).texts).split()) == expected


def test_a_file_needs_no_driver_of_a_server(tmp_path):
    script = (
        "import sys; from forgelore.app import App; App({}, cwd='.', db=sys.argv[1]).whole_store(create=True);"
        " print([name for name in sys.modules if 'psycopg' in name or 'store.postgres' in name])"
    )
    done = subprocess.run([sys.executable, "-c", script, str(tmp_path / "a.db")], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("[]\n", "")
