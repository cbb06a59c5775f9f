-- Up Migration

-- The journal of a running turn: its completed parts, from which a runtime continues it. Deleted when the turn ends.
CREATE TABLE turn_entries (
  turn_id uuid NOT NULL REFERENCES turns ON DELETE CASCADE,
  -- From 1 without gaps.
  number integer NOT NULL CHECK (number > 0),
  -- The generation of the turn that added the entry.
  generation integer NOT NULL,
  kind text NOT NULL CHECK (kind IN ('step', 'result')),
  -- JSON that only runtimes read.
  body text NOT NULL CHECK (octet_length(body) <= 131072),
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (turn_id, number)
);

-- Down Migration

DROP TABLE turn_entries;
