-- Up Migration

-- The terms by which memories are ranked (see docs/architecture.md, "Memories"): the start of each word and every three
-- consecutive letters; for Chinese, Japanese and Korean, which have no blanks, every two letters. No two terms share a
-- number. Only the start of a long text has terms.
CREATE FUNCTION memory_terms(value text) RETURNS bigint[] LANGUAGE sql IMMUTABLE PARALLEL SAFE STRICT
RETURN ARRAY(
  SELECT DISTINCT CASE
    WHEN ascii(b) >= 11904 AND ascii(c) >= 11904 THEN 0
    ELSE ascii(a)::bigint << 42
  END | (ascii(b)::bigint << 21) | ascii(c)
  FROM (
    SELECT string_to_array(
      ' ' || regexp_replace(search_fold(left(value, 4000)), '([^a-z0-9\u00aa-\U0010ffff]|[\u2000-\u206f\u3000-\u303f])+', ' ', 'g'),
      NULL
    ) AS letters
  ) split, unnest(letters, letters[2:], letters[3:]) p (a, b, c)
  WHERE b <> ' ' AND c <> ' '
);

ALTER TABLE agent_memories
  ADD COLUMN terms bigint[] NOT NULL GENERATED ALWAYS AS (memory_terms(key || ' ' || content)) STORED;

-- Down Migration

ALTER TABLE agent_memories DROP COLUMN terms;
DROP FUNCTION memory_terms;
