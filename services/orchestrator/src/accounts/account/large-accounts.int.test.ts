import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { startTestOrchestrator, type TestOrchestrator } from '../../../test/test-orchestrator.js';

/** A statement has a deadline, so it may delete only this many rows. */
const PER_STATEMENT = 2_000;

describe('the deletion of an account with many messages', () => {
  let uswarm: TestOrchestrator;
  beforeAll(async () => {
    uswarm = await startTestOrchestrator();
    await sql`
      CREATE FUNCTION limit_deletions() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF (SELECT count(*) FROM gone) > ${sql.lit(PER_STATEMENT)} THEN RAISE EXCEPTION 'too many rows'; END IF;
        RETURN NULL;
      END $$`.execute(uswarm.database);
    await sql`
      CREATE TRIGGER limited AFTER DELETE ON messages REFERENCING OLD TABLE AS gone
      FOR EACH STATEMENT EXECUTE FUNCTION limit_deletions()`.execute(uswarm.database);
  });
  afterAll(() => uswarm.close());

  it('deletes the messages in several statements, because each one has a deadline', async () => {
    const user = await uswarm.user();
    const { workspaceId, conversationId } = await uswarm.home(user);
    await sql`
      INSERT INTO messages (id, workspace_id, conversation_id, seq, role, content, status)
      SELECT gen_random_uuid(), ${workspaceId}, ${conversationId}, n, 'user', '{"type": "text", "text": "x"}', 'sent'
      FROM generate_series(1, ${2 * PER_STATEMENT + 1}) n`.execute(uswarm.database);
    await user.delete('/v1/auth/delete', {}, 204);
    const left = uswarm.database.selectFrom('messages').select('id').where('workspace_id', '=', workspaceId);
    expect(await left.execute()).toEqual([]);
  });
});
