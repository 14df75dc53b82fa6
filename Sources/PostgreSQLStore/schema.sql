-- The tables and rights of SecureStorage's objects in PostgreSQL 12 or later.
--
-- Run it as the tables' future owner, who must be allowed to create roles, or exist beside a role
-- securestorage_client: psql -f schema.sql, or PostgreSQLObjectStore.installSchema. It may be run
-- again at any time, also to repair rights, and changes no object.
--
-- Then, for each role that an app connects as, and each group of objects that it may use:
--
--     GRANT securestorage_client TO alice;
--     INSERT INTO securestorage_member (grp, role) VALUES ('notes', 'alice');
--
-- The server decides by the role whose password or certificate it has checked. What a client says
-- about itself has no influence on what it sees.

BEGIN;

-- Two runs at once would both find that something is missing.
SELECT pg_advisory_xact_lock(7310034201873);

DO $$
BEGIN
    CREATE ROLE securestorage_client NOLOGIN;
EXCEPTION
    WHEN duplicate_object OR unique_violation THEN NULL;
    -- Somebody else may have created it.
    WHEN insufficient_privilege THEN
        IF NOT EXISTS (SELECT FROM pg_catalog.pg_roles WHERE rolname = 'securestorage_client') THEN
            RAISE;
        END IF;
END
$$;

-- Who may use which group. Only the owner changes it.
CREATE TABLE IF NOT EXISTS securestorage_member (
    grp text COLLATE "C" NOT NULL,
    role name NOT NULL,
    PRIMARY KEY (role, grp)
);

-- Objects: created once, removed, never changed.
CREATE TABLE IF NOT EXISTS securestorage_object (
    grp text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL CHECK (octet_length(name) BETWEEN 1 AND 600),
    bytes bytea NOT NULL CHECK (octet_length(bytes) <= 64 * 1024 * 1024),
    at timestamptz NOT NULL DEFAULT clock_timestamp(),
    PRIMARY KEY (grp, name)
);

-- Marks: small, and overwritten. The first version is the time in microseconds, so that a mark that
-- was removed and set anew does not have a version that was seen before.
CREATE TABLE IF NOT EXISTS securestorage_mark (
    grp text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL CHECK (octet_length(name) BETWEEN 1 AND 600),
    bytes bytea NOT NULL CHECK (octet_length(bytes) <= 1024),
    version bigint NOT NULL DEFAULT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint,
    PRIMARY KEY (grp, name)
) WITH (fillfactor = 50);

-- Names that groups' objects have, or had. They stay taken: otherwise a device that was removed from a
-- group, and still has its role, could put another object under the name of one that it deletes. About
-- 120 bytes for each object that there ever was.
CREATE TABLE IF NOT EXISTS securestorage_name (
    grp text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    PRIMARY KEY (grp, name)
);

-- Its function runs as the owner, who may write what clients may not see. So it names the table with
-- its schema, and looks into no schema where a client could put another one.
DO $$
BEGIN
    EXECUTE format($sql$
        CREATE OR REPLACE FUNCTION securestorage_take_name() RETURNS trigger LANGUAGE plpgsql
            SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $body$
        BEGIN
            INSERT INTO %1$I.securestorage_name (grp, name) VALUES (NEW.grp, NEW.name)
                ON CONFLICT DO NOTHING;
            IF NOT FOUND THEN
                RETURN NULL; -- as for a name that exists
            END IF;
            RETURN NEW;
        END
        $body$ $sql$, current_schema());
END
$$;

-- A group's objects: 32 hexadecimal digits, a letter for their kind, and more.
INSERT INTO securestorage_name (grp, name)
    SELECT grp, name FROM securestorage_object WHERE name ~ '^[0-9a-f]{32}/[a-z]/'
    ON CONFLICT DO NOTHING;
DROP TRIGGER IF EXISTS securestorage_take_name ON securestorage_object;
CREATE TRIGGER securestorage_take_name BEFORE INSERT ON securestorage_object FOR EACH ROW
    WHEN (NEW.name ~ '^[0-9a-f]{32}/[a-z]/') EXECUTE FUNCTION securestorage_take_name();

-- Ciphertext does not become smaller by compression.
ALTER TABLE securestorage_object ALTER COLUMN bytes SET STORAGE EXTERNAL;

-- Each role sees its own memberships, and the objects and marks of their groups.
ALTER TABLE securestorage_member ENABLE ROW LEVEL SECURITY;
ALTER TABLE securestorage_object ENABLE ROW LEVEL SECURITY;
ALTER TABLE securestorage_mark ENABLE ROW LEVEL SECURITY;

DROP POLICY IF EXISTS securestorage_own ON securestorage_member;
CREATE POLICY securestorage_own ON securestorage_member FOR SELECT TO securestorage_client
    USING (role = current_user);

-- As IN, the memberships are looked up once for a statement, not for each row.
DROP POLICY IF EXISTS securestorage_group ON securestorage_object;
CREATE POLICY securestorage_group ON securestorage_object TO securestorage_client
    USING (grp IN (SELECT m.grp FROM securestorage_member m WHERE m.role = current_user))
    WITH CHECK (grp IN (SELECT m.grp FROM securestorage_member m WHERE m.role = current_user));

DROP POLICY IF EXISTS securestorage_group ON securestorage_mark;
CREATE POLICY securestorage_group ON securestorage_mark TO securestorage_client
    USING (grp IN (SELECT m.grp FROM securestorage_member m WHERE m.role = current_user))
    WITH CHECK (grp IN (SELECT m.grp FROM securestorage_member m WHERE m.role = current_user));

-- The chain of a group's members is never removed: it says who was removed.
DROP POLICY IF EXISTS securestorage_chain ON securestorage_object;
CREATE POLICY securestorage_chain ON securestorage_object AS RESTRICTIVE FOR DELETE
    TO securestorage_client USING (name !~ '^[0-9a-f]{32}/m/');

-- No mark stands where a group's objects do: it could be read as one, and changed.
DROP POLICY IF EXISTS securestorage_place ON securestorage_mark;
CREATE POLICY securestorage_place ON securestorage_mark AS RESTRICTIVE
    TO securestorage_client USING (true) WITH CHECK (name !~ '^[0-9a-f]{32}/[a-z]/');

-- No UPDATE of objects: not even a client that was taken over can replace one of a group under its
-- name. The time of creation is the server's, since no client may write it.
REVOKE ALL ON securestorage_member, securestorage_object, securestorage_mark, securestorage_name
    FROM PUBLIC, securestorage_client;
REVOKE ALL ON FUNCTION securestorage_take_name() FROM PUBLIC, securestorage_client;
GRANT SELECT ON securestorage_member TO securestorage_client;
GRANT SELECT, INSERT (grp, name, bytes), DELETE ON securestorage_object TO securestorage_client;
GRANT SELECT, INSERT (grp, name, bytes), UPDATE (bytes, version), DELETE ON securestorage_mark
    TO securestorage_client;

COMMIT;
