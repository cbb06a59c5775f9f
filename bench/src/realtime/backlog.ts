/** Statements for events that the relay publishes. Parameters: workspaces, and events for each. */

/** Workspaces with one message, whose event is published again and again. */
export const ADD_WORKSPACES = `
  WITH owners AS (
    INSERT INTO users (id, issuer, subject) SELECT gen_random_uuid(), 'relay', n::text FROM generate_series(1, $1::int) n RETURNING id
  ), made AS (
    INSERT INTO workspaces (id, owner_id, name) SELECT gen_random_uuid(), id, 'Relay' FROM owners RETURNING id, owner_id
  ), talked AS (
    INSERT INTO conversations (id, workspace_id, type) SELECT gen_random_uuid(), id, 'swarm' FROM made RETURNING id, workspace_id
  ), ran AS (
    INSERT INTO runtimes (workspace_id, user_id, desired) SELECT id, owner_id, 'suspended' FROM made
  )
  INSERT INTO messages (id, workspace_id, conversation_id, seq, role, content, status)
  SELECT gen_random_uuid(), workspace_id, id, 1, 'user', jsonb_build_object('type', 'text', 'text', repeat('hello ', 30)), 'sent'
  FROM talked`;

/** Message events that do not wait yet. */
export const ADD_EVENTS = `
  WITH places AS (
    SELECT w.id, w.last_seq, m.id AS message FROM workspaces w JOIN messages m ON m.workspace_id = w.id
    WHERE w.name = 'Relay' ORDER BY w.id LIMIT $1
  ), counted AS (
    UPDATE workspaces w SET last_seq = w.last_seq + $2::int FROM places p WHERE w.id = p.id
  )
  INSERT INTO workspace_events (workspace_id, seq, type, subject_id, published_at)
  SELECT p.id, p.last_seq + n, 'message.updated', p.message, now() FROM places p CROSS JOIN generate_series(1, $2::int) n`;
/** Makes the events due that `ADD_EVENTS` has added with the same numbers. */
export const MAKE_WAIT = `
  INSERT INTO event_outbox (workspace_id, from_seq, upto_seq, due_at)
  SELECT id, last_seq - $2::int + 1, last_seq, now() FROM workspaces WHERE name = 'Relay' ORDER BY id LIMIT $1
  ON CONFLICT (workspace_id) DO UPDATE SET upto_seq = EXCLUDED.upto_seq`;
