-- Up Migration

-- The kinds of content of others that agents have read in a conversation: web pages, mails, and what was written after reading
-- them. From then on, calls that change something outside ask the user. Inserted before the content can reach the runtime.
CREATE TABLE untrusted_contents (
  conversation_id uuid NOT NULL REFERENCES conversations ON DELETE CASCADE,
  source text NOT NULL CHECK (source IN ('web', 'app', 'attachment', 'memory', 'artifact')),
  -- The turn that read it first. It can be deleted.
  turn_id uuid,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (conversation_id, source)
);

-- Written in a conversation with such content.
ALTER TABLE agent_memories ADD COLUMN untrusted boolean NOT NULL DEFAULT false;
ALTER TABLE artifact_versions ADD COLUMN untrusted boolean NOT NULL DEFAULT false;

-- Conversations of earlier releases, in which agents could search the web.
INSERT INTO untrusted_contents (conversation_id, source)
SELECT DISTINCT conversation_id, CASE WHEN attachments <> '[]' THEN 'attachment' ELSE 'web' END
FROM messages WHERE attachments <> '[]' OR content ->> 'type' = 'tool_status';

-- Down Migration

ALTER TABLE artifact_versions DROP COLUMN untrusted;
ALTER TABLE agent_memories DROP COLUMN untrusted;
DROP TABLE untrusted_contents;
