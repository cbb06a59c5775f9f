-- Up Migration

-- Gateways that called this installation lately, with the version of bus envelopes that they read. Release 0.2 does not announce
-- itself: the row `release-0.2` represents all of its gateways.
CREATE TABLE gateways (
  id text PRIMARY KEY,
  bus_version integer NOT NULL,
  seen_at timestamptz NOT NULL DEFAULT now()
);
-- During the roll-out to this release, gateways of release 0.2 run until they are replaced. A new installation has none.
INSERT INTO gateways (id, bus_version) SELECT 'release-0.2', 1 WHERE EXISTS (SELECT FROM users);

-- The event log becomes insert only, with a partition per day of UTC. The rows so far are its first partition. There is no foreign
-- key: each insertion would check it, and lock the workspace a second time.
ALTER TABLE workspace_events RENAME TO workspace_events_before;
ALTER TABLE workspace_events_before DROP CONSTRAINT workspace_events_workspace_id_fkey;
ALTER TABLE workspace_events_before DROP CONSTRAINT workspace_events_pkey;
ALTER INDEX workspace_events_unpublished RENAME TO workspace_events_before_unpublished;
DROP INDEX workspace_events_age;
ALTER TABLE workspace_events_before ADD COLUMN day date NOT NULL DEFAULT (now() AT TIME ZONE 'UTC')::date;
ALTER TABLE workspace_events_before ADD CONSTRAINT workspace_events_before_pkey PRIMARY KEY (workspace_id, seq, day);

CREATE TABLE workspace_events (
  workspace_id uuid NOT NULL,
  seq bigint NOT NULL,
  -- By the clock at the insertion, which has the lock of the workspace: days are in the order of seqs.
  day date NOT NULL DEFAULT (clock_timestamp() AT TIME ZONE 'UTC')::date,
  type text NOT NULL,
  subject_id uuid NOT NULL,
  -- For message.deleted: the conversation of the message.
  conversation_id uuid,
  created_at timestamptz NOT NULL DEFAULT now(),
  -- Only for release 0.2, whose relay reads events without it. This release sets it in the insertion.
  published_at timestamptz,
  PRIMARY KEY (workspace_id, seq, day)
) PARTITION BY RANGE (day);
CREATE INDEX workspace_events_unpublished ON workspace_events (workspace_id, seq) WHERE published_at IS NULL;
DO $$ BEGIN
  EXECUTE format('ALTER TABLE workspace_events ATTACH PARTITION workspace_events_before FOR VALUES FROM (MINVALUE) TO (%L)',
    (now() AT TIME ZONE 'UTC')::date + 1);
END $$;
-- For events of days without a partition. It stays empty while partitions are created in time.
CREATE TABLE workspace_events_default PARTITION OF workspace_events DEFAULT;

-- The partitions of the event log, with the day after their last day.
CREATE VIEW event_partitions AS
  SELECT c.relname::text AS name,
    (regexp_match(pg_get_expr(c.relpartbound, c.oid), 'TO \(''([0-9-]+)''\)'))[1]::date AS until
  FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
  WHERE i.inhparent = 'workspace_events'::regclass AND c.relname <> 'workspace_events_default';

-- Creates the partitions until some days from now. The serving role may not create tables, so this function has the rights of its
-- owner. The new table is attached and not created as a partition, which would stop all access to the log meanwhile.
CREATE FUNCTION create_event_partitions(days_ahead integer) RETURNS integer
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET lock_timeout = '5s' AS $$
DECLARE
  next_day date;
  last_day date := (clock_timestamp() AT TIME ZONE 'UTC')::date + days_ahead;
  name text;
  created integer := 0;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('partitions of workspace_events', 0));
  SELECT max(until) INTO next_day FROM event_partitions;
  WHILE next_day <= last_day LOOP
    name := 'workspace_events_' || to_char(next_day, 'YYYYMMDD');
    EXECUTE format('CREATE TABLE %I (LIKE workspace_events INCLUDING DEFAULTS)', name);
    EXECUTE format('WITH moved AS (DELETE FROM workspace_events_default WHERE day = %L RETURNING *)
      INSERT INTO %I SELECT * FROM moved', next_day, name);
    EXECUTE format('ALTER TABLE workspace_events ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', name, next_day, next_day + 1);
    created := created + 1;
    next_day := next_day + 1;
  END LOOP;
  RETURN created;
END $$;
REVOKE ALL ON FUNCTION create_event_partitions(integer) FROM PUBLIC;
SELECT create_event_partitions(7);

-- Rows of the log that wait for publication, one per workspace.
CREATE TABLE event_outbox (
  workspace_id uuid PRIMARY KEY,
  shard smallint NOT NULL GENERATED ALWAYS AS ((uuid_hash_extended(workspace_id, 0) & 63)::smallint) STORED,
  -- The first and the last event that wait.
  from_seq bigint NOT NULL,
  upto_seq bigint NOT NULL,
  -- A time before the first event that waits.
  since timestamptz NOT NULL DEFAULT now(),
  -- The process that stored the events publishes them. From then on, the relay of the shard does.
  due_at timestamptz NOT NULL DEFAULT now() + interval '1 second'
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000);
CREATE INDEX event_outbox_due ON event_outbox (shard, due_at);
INSERT INTO event_outbox (workspace_id, from_seq, upto_seq, since)
  SELECT workspace_id, min(seq), max(seq), min(created_at) FROM workspace_events WHERE published_at IS NULL GROUP BY workspace_id;

-- Release 0.2 does not write the outbox. It locks the workspace before it inserts an event, as this release does.
CREATE FUNCTION add_to_event_outbox() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  INSERT INTO event_outbox (workspace_id, from_seq, upto_seq, since) VALUES (NEW.workspace_id, NEW.seq, NEW.seq, NEW.created_at)
  ON CONFLICT (workspace_id) DO UPDATE
    SET from_seq = least(event_outbox.from_seq, EXCLUDED.from_seq), upto_seq = greatest(event_outbox.upto_seq, EXCLUDED.upto_seq);
  RETURN NULL;
END $$;
CREATE TRIGGER workspace_events_of_release_02 AFTER INSERT ON workspace_events
  FOR EACH ROW WHEN (NEW.published_at IS NULL) EXECUTE FUNCTION add_to_event_outbox();

-- In place of the foreign key: the log of a deleted workspace is deleted with it.
CREATE FUNCTION workspace_deleted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM event_outbox WHERE workspace_id = OLD.id;
  DELETE FROM workspace_events WHERE workspace_id = OLD.id;
  RETURN NULL;
END $$;
CREATE TRIGGER workspaces_deleted AFTER DELETE ON workspaces FOR EACH ROW EXECUTE FUNCTION workspace_deleted();

-- Drops the partitions that end before a day, except those with events that wait for publication.
CREATE FUNCTION drop_event_partitions(before date) RETURNS integer
  LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp SET lock_timeout = '2s' AS $$
DECLARE
  name text;
  dropped integer := 0;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtextextended('partitions of workspace_events', 0));
  FOR name IN
    SELECT p.name FROM event_partitions p
    WHERE p.until <= before AND NOT EXISTS (SELECT FROM event_outbox o WHERE o.since < (p.until + 1)::timestamp AT TIME ZONE 'UTC')
    ORDER BY p.until
  LOOP
    EXECUTE format('DROP TABLE %I', name);
    dropped := dropped + 1;
  END LOOP;
  RETURN dropped;
END $$;
REVOKE ALL ON FUNCTION drop_event_partitions(date) FROM PUBLIC;

-- The running relays. Each publishes a part of the shards of the outbox.
CREATE TABLE relays (
  id uuid PRIMARY KEY,
  seen_at timestamptz NOT NULL DEFAULT now()
);

-- Down Migration

DROP TABLE relays;
DROP TRIGGER workspaces_deleted ON workspaces;
DROP FUNCTION workspace_deleted;
DROP FUNCTION drop_event_partitions, create_event_partitions;
DROP VIEW event_partitions;
ALTER TABLE workspace_events RENAME TO workspace_events_partitioned;
CREATE TABLE workspace_events (
  workspace_id uuid NOT NULL REFERENCES workspaces ON DELETE CASCADE,
  seq bigint NOT NULL,
  type text NOT NULL,
  subject_id uuid NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  published_at timestamptz,
  conversation_id uuid
);
INSERT INTO workspace_events
  SELECT e.workspace_id, e.seq, e.type, e.subject_id, e.created_at,
    CASE WHEN e.seq >= o.from_seq THEN NULL ELSE coalesce(e.published_at, now()) END, e.conversation_id
  FROM workspace_events_partitioned e JOIN workspaces w ON w.id = e.workspace_id LEFT JOIN event_outbox o USING (workspace_id);
DROP TABLE workspace_events_partitioned, event_outbox;
DROP FUNCTION add_to_event_outbox;
ALTER TABLE workspace_events ADD CONSTRAINT workspace_events_pkey PRIMARY KEY (workspace_id, seq);
CREATE INDEX workspace_events_unpublished ON workspace_events (workspace_id, seq) WHERE published_at IS NULL;
CREATE INDEX workspace_events_age ON workspace_events (created_at);
DROP TABLE gateways;
