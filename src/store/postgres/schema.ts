/** The tables of a store, and the functions that change names.
 * Invariant: made by `waybill store init` and by nothing else, in one transaction. A node
 * changes no table but those of segments: a change of the schema waits for every commit that
 * waits for a standby, and everybody else waits for it. README has what each table is for. */

export const schemaVersion = 1

/** Of a store that a later version of Waybill has made. */
export const otherSchemaReason = (version: number): string =>
  `the schema of the store has version ${version}, this program knows ${schemaVersion}: update Waybill on this machine`

const tables = `
CREATE SCHEMA IF NOT EXISTS waybill;
CREATE TABLE waybill.schema (version int NOT NULL);
INSERT INTO waybill.schema VALUES (${schemaVersion});
CREATE TABLE waybill.queue (
  queue int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name text COLLATE "C" NOT NULL UNIQUE CHECK (name ~ '^[a-z0-9][a-z0-9._-]{0,62}$'),
  home text,
  quota bigint NOT NULL DEFAULT 68719476736);
CREATE TABLE waybill.fence (
  queue int REFERENCES waybill.queue, part smallint CHECK (part IN (0, 1)),
  epoch bigint NOT NULL DEFAULT 0, nonce text, node text, address inet,
  PRIMARY KEY (queue, part)) WITH (fillfactor = 20);
CREATE TABLE waybill.beat (
  queue int PRIMARY KEY REFERENCES waybill.queue, beat bigint NOT NULL DEFAULT 0)
  WITH (fillfactor = 20, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200);
CREATE TABLE waybill.member (
  node text PRIMARY KEY, beat bigint NOT NULL DEFAULT 0)
  WITH (fillfactor = 20, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200);
CREATE TABLE waybill.changed (
  queue int PRIMARY KEY REFERENCES waybill.queue,
  number bigint NOT NULL DEFAULT 0)
  WITH (fillfactor = 20, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 200);
CREATE TABLE waybill.file (
  queue int NOT NULL REFERENCES waybill.queue, file bigint GENERATED ALWAYS AS IDENTITY,
  parent text COLLATE "C" NOT NULL, name text COLLATE "C",
  is_directory boolean NOT NULL, has_table boolean NOT NULL, length bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (queue, file));
CREATE UNIQUE INDEX file_name ON waybill.file (queue, parent, name) WHERE name IS NOT NULL;
CREATE INDEX file_nameless ON waybill.file (queue) WHERE name IS NULL;
CREATE TABLE waybill.extent (
  queue int, file bigint, at bigint, upto bigint NOT NULL, bytes bytea NOT NULL,
  PRIMARY KEY (queue, file, at));
ALTER TABLE waybill.extent ALTER bytes SET STORAGE EXTERNAL;
`

/** WB001: the epoch is not the queue's. WB002: its message is what a file system would answer. */
const fencing = `
CREATE FUNCTION waybill.hold(q int, p smallint, e bigint) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  PERFORM 1 FROM waybill.fence WHERE queue = q AND part = p AND epoch = e FOR SHARE;
  IF NOT FOUND THEN RAISE EXCEPTION 'fenced' USING ERRCODE = 'WB001'; END IF;
END $$;
CREATE FUNCTION waybill.refuse(errno text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN RAISE EXCEPTION '%', errno USING ERRCODE = 'WB002'; END $$;
CREATE FUNCTION waybill.count_change(q int, n bigint, v bigint) RETURNS bigint LANGUAGE sql AS
$$ UPDATE waybill.changed SET number = n WHERE queue = q RETURNING v $$;
`

/** Each begins behind \`hold\`: from then on nobody else changes this queue's names. */
const names = `
CREATE FUNCTION waybill.at(q int, dir text, nm text) RETURNS waybill.file LANGUAGE sql AS
$$ SELECT f FROM waybill.file f WHERE queue = q AND parent = dir AND name = nm $$;
CREATE FUNCTION waybill.check_parent(q int, dir text) RETURNS void LANGUAGE plpgsql AS $$
DECLARE f waybill.file; cut int := length(dir) - position('/' in reverse(dir));
BEGIN
  IF dir = '' THEN RETURN; END IF;
  IF cut = length(dir) THEN f := waybill.at(q, '', dir);
  ELSE f := waybill.at(q, left(dir, cut), substr(dir, cut + 2)); END IF;
  IF f.file IS NULL THEN PERFORM waybill.refuse('ENOENT'); END IF;
  IF NOT f.is_directory THEN PERFORM waybill.refuse('ENOTDIR'); END IF;
END $$;
CREATE FUNCTION waybill.create_file(q int, e bigint, n bigint, dir text, nm text, tab boolean)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE made bigint;
BEGIN
  PERFORM waybill.hold(q, 1::smallint, e);
  PERFORM waybill.check_parent(q, dir);
  IF (waybill.at(q, dir, nm)).file IS NOT NULL THEN PERFORM waybill.refuse('EEXIST'); END IF;
  INSERT INTO waybill.file (queue, parent, name, is_directory, has_table)
    VALUES (q, dir, nm, false, tab) RETURNING file INTO made;
  IF tab THEN
    EXECUTE format('CREATE TABLE waybill.s%s (at bigint PRIMARY KEY, upto bigint NOT NULL, bytes bytea NOT NULL) WITH (autovacuum_enabled = off)', made);
    EXECUTE format('ALTER TABLE waybill.s%s ALTER bytes SET STORAGE EXTERNAL', made);
  END IF;
  RETURN waybill.count_change(q, n, made);
END $$;
CREATE FUNCTION waybill.make_directory(q int, e bigint, n bigint, dir text, nm text)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE f waybill.file;
BEGIN
  PERFORM waybill.hold(q, 1::smallint, e);
  PERFORM waybill.check_parent(q, dir);
  f := waybill.at(q, dir, nm);
  IF f.file IS NULL THEN
    INSERT INTO waybill.file (queue, parent, name, is_directory, has_table) VALUES (q, dir, nm, true, false);
  ELSIF NOT f.is_directory THEN PERFORM waybill.refuse('EEXIST'); END IF;
  RETURN waybill.count_change(q, n, 0);
END $$;
CREATE FUNCTION waybill.remove_directory(q int, e bigint, n bigint, dir text, nm text)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE f waybill.file; path text := CASE WHEN dir = '' THEN nm ELSE dir || '/' || nm END;
BEGIN
  PERFORM waybill.hold(q, 1::smallint, e);
  f := waybill.at(q, dir, nm);
  IF f.file IS NULL THEN PERFORM waybill.refuse('ENOENT'); END IF;
  IF NOT f.is_directory THEN PERFORM waybill.refuse('ENOTDIR'); END IF;
  IF EXISTS (SELECT FROM waybill.file WHERE queue = q AND parent = path AND name IS NOT NULL)
    THEN PERFORM waybill.refuse('ENOTEMPTY'); END IF;
  DELETE FROM waybill.file WHERE queue = q AND file = f.file;
  RETURN waybill.count_change(q, n, 0);
END $$;
CREATE FUNCTION waybill.unlink(q int, e bigint, n bigint, dir text, nm text)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE f waybill.file;
BEGIN
  PERFORM waybill.hold(q, 1::smallint, e);
  f := waybill.at(q, dir, nm);
  IF f.file IS NULL THEN PERFORM waybill.refuse('ENOENT'); END IF;
  IF f.is_directory THEN PERFORM waybill.refuse('EISDIR'); END IF;
  UPDATE waybill.file SET name = NULL WHERE queue = q AND file = f.file;
  RETURN waybill.count_change(q, n, 0);
END $$;
CREATE FUNCTION waybill.rename(q int, e bigint, n bigint, dir text, nm text, new_dir text, new_nm text)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE f waybill.file; old waybill.file;
BEGIN
  PERFORM waybill.hold(q, 1::smallint, e);
  f := waybill.at(q, dir, nm);
  IF f.file IS NULL THEN PERFORM waybill.refuse('ENOENT'); END IF;
  IF f.is_directory THEN PERFORM waybill.refuse('EISDIR'); END IF;
  PERFORM waybill.check_parent(q, new_dir);
  old := waybill.at(q, new_dir, new_nm);
  IF old.is_directory THEN PERFORM waybill.refuse('EISDIR'); END IF;
  UPDATE waybill.file SET name = NULL WHERE queue = q AND file = old.file AND file <> f.file;
  UPDATE waybill.file SET parent = new_dir, name = new_nm WHERE queue = q AND file = f.file;
  RETURN waybill.count_change(q, n, 0);
END $$;
`

const content = `
CREATE FUNCTION waybill.content_end(q int, f bigint, tab boolean) RETURNS bigint LANGUAGE plpgsql STABLE AS $$
DECLARE found_end bigint;
BEGIN
  IF tab THEN
    EXECUTE format('SELECT upto FROM waybill.s%s ORDER BY at DESC LIMIT 1', f) INTO found_end;
  ELSE
    SELECT upto FROM waybill.extent WHERE queue = q AND file = f ORDER BY at DESC LIMIT 1 INTO found_end;
  END IF;
  RETURN coalesce(found_end, 0);
END $$;
CREATE FUNCTION waybill.cut(q int, f bigint, tab boolean, lo bigint, hi bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE x record; t text := 'waybill.extent'; w text := format('queue = %s AND file = %s AND ', q, f);
  tail text := format('INSERT INTO waybill.extent SELECT %s, %s, $1, $2, $3', q, f);
BEGIN
  IF tab THEN
    t := format('waybill.s%s', f); w := '';
    tail := format('INSERT INTO waybill.s%s SELECT $1, $2, $3', f);
  END IF;
  FOR x IN EXECUTE format('SELECT at, upto, bytes FROM %s WHERE %s at < $2 AND upto > $1
      AND at >= coalesce((SELECT max(at) FROM %s WHERE %s at <= $1), 0)', t, w, t, w) USING lo, hi LOOP
    IF x.at < lo THEN
      EXECUTE format('UPDATE %s SET upto = $1, bytes = substring(bytes from 1 for ($1 - at)::int) WHERE %s at = $2', t, w)
        USING lo, x.at;
    ELSE
      EXECUTE format('DELETE FROM %s WHERE %s at = $1', t, w) USING x.at;
    END IF;
    IF x.upto > hi THEN
      EXECUTE tail USING hi, x.upto, substring(x.bytes from (hi - x.at + 1)::int);
    END IF;
  END LOOP;
END $$;
CREATE FUNCTION waybill.overwrite(q int, p smallint, e bigint, f bigint, tab boolean, lo bigint, hi bigint,
  at1 bigint, upto1 bigint, bytes1 bytea, at2 bigint, upto2 bigint, bytes2 bytea) RETURNS void LANGUAGE plpgsql AS $$
DECLARE t text := CASE WHEN tab THEN format('waybill.s%s', f) ELSE 'waybill.extent' END;
  k text := CASE WHEN tab THEN '' ELSE format('%s, %s, ', q, f) END;
BEGIN
  PERFORM waybill.hold(q, p, e);
  PERFORM waybill.cut(q, f, tab, lo, hi);
  IF at1 IS NOT NULL THEN
    EXECUTE format('INSERT INTO %s VALUES (%s $1, $2, $3)', t, k) USING at1, upto1, bytes1;
  END IF;
  IF at2 IS NOT NULL THEN
    EXECUTE format('INSERT INTO %s VALUES (%s $1, $2, $3)', t, k) USING at2, upto2, bytes2;
  END IF;
  UPDATE waybill.file SET length = hi WHERE queue = q AND file = f AND length < hi;
END $$;
CREATE FUNCTION waybill.set_length(q int, e bigint, n bigint, f bigint, len bigint, may_cut boolean)
RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE x waybill.file;
BEGIN
  PERFORM waybill.hold(q, 1::smallint, e);
  SELECT * FROM waybill.file WHERE queue = q AND file = f INTO x;
  IF may_cut THEN PERFORM waybill.cut(q, f, x.has_table, len, 9223372036854775807); END IF;
  UPDATE waybill.file SET length = len WHERE queue = q AND file = f AND (may_cut OR length < len);
  RETURN waybill.count_change(q, n, 0);
END $$;
CREATE FUNCTION waybill.reap(q int, e bigint, keep bigint[], most int) RETURNS bigint
LANGUAGE plpgsql SET lock_timeout = '200ms' AS $$
DECLARE x waybill.file; left_over bigint;
BEGIN
  PERFORM waybill.hold(q, 1::smallint, e);
  FOR x IN SELECT * FROM waybill.file WHERE queue = q AND name IS NULL AND file <> ALL (keep) LIMIT most LOOP
    BEGIN
      IF x.has_table THEN EXECUTE format('DROP TABLE IF EXISTS waybill.s%s', x.file);
      ELSE DELETE FROM waybill.extent WHERE queue = q AND file = x.file; END IF;
      DELETE FROM waybill.file WHERE queue = q AND file = x.file;
    EXCEPTION WHEN lock_not_available THEN NULL;
    END;
  END LOOP;
  SELECT count(*) FROM waybill.file WHERE queue = q AND name IS NULL AND file <> ALL (keep) INTO left_over;
  RETURN left_over;
END $$;
CREATE FUNCTION waybill.used_bytes(q int) RETURNS bigint LANGUAGE sql AS $$
  SELECT coalesce(sum(CASE WHEN has_table
    THEN pg_total_relation_size(to_regclass(format('waybill.s%s', file)))
    ELSE (SELECT coalesce(sum(upto - at), 0) FROM waybill.extent x WHERE x.queue = q AND x.file = f.file) END), 0)::bigint
  FROM waybill.file f WHERE queue = q AND NOT is_directory $$;
`

/** Calls (calls.ts). UNLOGGED: no standby has them, and nobody waits for one. Made also in a store
 * that has been there: none of its tables changes. */
export const callsText: string = `
CREATE UNLOGGED TABLE IF NOT EXISTS waybill.call (
  call uuid PRIMARY KEY, queue int NOT NULL, is_over boolean NOT NULL DEFAULT false,
  caller int NOT NULL, caller_since timestamptz, taker int, taker_since timestamptz);
CREATE UNLOGGED TABLE IF NOT EXISTS waybill.call_piece (
  call uuid, sender text, number bigint, bytes bytea NOT NULL, PRIMARY KEY (call, sender, number));
`

/** All of it, as one text. */
export const schemaText: string = tables + fencing + names + content + callsText
