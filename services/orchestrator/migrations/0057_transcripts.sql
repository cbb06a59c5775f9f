-- Up Migration

-- The spoken words in an audio file; null before it is transcribed, empty without speech. They stay with the file, so that it is
-- transcribed once. Messages have a copy of its beginning in `attachments`.
ALTER TABLE uploads ADD COLUMN transcript text;

-- Name and transcript are removed with the user, before the file.
CREATE OR REPLACE FUNCTION upload_disowned() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.name := '';
  NEW.transcript := NULL;
  PERFORM look_at_upload(NEW.id);
  RETURN NEW;
END
$$;

-- Recordings that wait for their transcript, each with a job of type `transcription`, or that have none for the reason in `problem`.
CREATE TABLE transcriptions (
  upload_id uuid PRIMARY KEY REFERENCES uploads ON DELETE CASCADE,
  -- Its workspace is charged.
  turn_id uuid NOT NULL REFERENCES turns ON DELETE CASCADE,
  -- Counted before each call, so that a recording that kills the process is not sent forever.
  attempts integer NOT NULL DEFAULT 0,
  problem text CHECK (problem IN ('too_large', 'too_long', 'refused', 'limit', 'unavailable')),
  updated_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX transcriptions_turn ON transcriptions (turn_id);

-- Not validated, because the rows satisfied a stricter constraint.
ALTER TABLE usage_entries DROP CONSTRAINT usage_entries_kind_check;
ALTER TABLE usage_entries ADD CONSTRAINT usage_entries_kind_check
  CHECK (kind IN ('step', 'summary', 'title', 'transcription')) NOT VALID;

-- Down Migration

DELETE FROM work WHERE kind = 'transcription';
DROP TABLE transcriptions;
CREATE OR REPLACE FUNCTION upload_disowned() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.name := '';
  PERFORM look_at_upload(NEW.id);
  RETURN NEW;
END
$$;
ALTER TABLE uploads DROP COLUMN transcript;
UPDATE usage_entries SET kind = 'step' WHERE kind = 'transcription';
ALTER TABLE usage_entries DROP CONSTRAINT usage_entries_kind_check;
ALTER TABLE usage_entries ADD CONSTRAINT usage_entries_kind_check CHECK (kind IN ('step', 'summary', 'title')) NOT VALID;
