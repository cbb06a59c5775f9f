import { describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { ASKED } from '../../../test/message-client.js';
import { useTurnFixture } from '../../../test/turn-fixture.js';
import { approvalCard, callHash } from '../../records/approval-card.js';

describe('the approval of a call', () => {
  const world = useTurnFixture();

  async function asked(...ids: string[]) {
    await world.user.post(world.home.messages, { content: { type: 'text', text: 'go' } }, 201);
    const job = await world.turnWorker.claim();
    const writer = await world.turnWorker.writerOf(job);
    await writer.begin();
    for (const id of ids) {
      const card = approvalCard({ title: id, changes: [] }, ASKED);
      const call = { id, tool: 'send', argumentsHash: callHash('send', id), key: `key of ${id}` };
      await writer.ask({ ...call, integrationId: undefined, card });
    }
    return { writer, turnId: job.subjectId };
  }
  const change = (set: string, turnId: string, callId: string) =>
    sql`UPDATE tool_approvals SET ${sql.raw(set)} WHERE turn_id = ${turnId} AND call_id = ${callId}`.execute(
      world.uswarm.database,
    );

  it('keeps the key of the request as the card was rendered for it', async () => {
    const { writer } = await asked('a');
    expect((await writer.findCall('a')).approval).toMatchObject({ status: 'open', key: 'key of a' });
  });

  it('is outdated an hour after the decision', async () => {
    const { writer, turnId } = await asked('a', 'b');
    await change("status = 'approved', decided_at = now() - interval '59 minutes'", turnId, 'a');
    await change("status = 'approved', decided_at = now() - interval '61 minutes'", turnId, 'b');
    const statuses = [await writer.findCall('a'), await writer.findCall('b')].map(({ approval }) => approval?.status);
    expect(statuses).toEqual(['approved', 'outdated']);
  });

  it('does not suspend a turn for a card that was deleted', async () => {
    const { writer, turnId } = await asked('a', 'b');
    await sql`DELETE FROM tool_approvals WHERE turn_id = ${turnId} AND call_id = 'b'`.execute(world.uswarm.database);
    expect(await writer.suspend('', ['a', 'b'])).toBeUndefined();
    expect(await writer.suspend('', ['a'])).toBeDefined();
  });

  it('suspends a turn although another call was decided and is not requested', async () => {
    const { writer, turnId } = await asked('a', 'b');
    await change("status = 'approved', decided_at = now()", turnId, 'a');
    expect(await writer.suspend('', ['a', 'b'])).toBeUndefined();
    expect(await writer.suspend('', ['b'])).toBeDefined();
  });
});
