-- Up Migration

-- How far the events of a running turn are applied, and the text of its reply. Another process continues after them.
CREATE TABLE turn_progress (
  turn_id uuid PRIMARY KEY REFERENCES turns ON DELETE CASCADE,
  -- The generation of the events. Rows of an earlier one only keep the text.
  generation integer NOT NULL,
  -- All events up to this number are applied.
  applied_event bigint NOT NULL,
  -- The runtime repeats the events after this number: it may wait for the outcome of a later request.
  resume_from bigint NOT NULL,
  -- The last number of a published part of the text.
  chunk_seq integer NOT NULL,
  -- The step of the last announced model call.
  announced_step integer NOT NULL,
  -- What users see.
  text text NOT NULL,
  -- What the runtime sent; null if users see the same.
  received text
);
-- It is updated often, and has no other index.
ALTER TABLE turn_progress SET (fillfactor = 50);

-- Down Migration

DROP TABLE turn_progress;
