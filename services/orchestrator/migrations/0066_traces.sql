-- Up Migration

-- The span that queued the turn, as a W3C traceparent: each process that works on the turn continues its trace. Null without tracing.
ALTER TABLE turns ADD COLUMN traceparent text;

-- Down Migration

ALTER TABLE turns DROP COLUMN traceparent;
