import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { MessageData } from '@uswarm/contract';
import { type AppServers, type AppUser, type Card, startAppServers, startAppUser } from '../test/app-servers.js';
import { killIfAlive } from '../test/processes.js';
import { type SeparateServices, startSeparateServices } from '../test/separate.js';

const MEMORY = { key: 'tea', content: 'The user drinks green tea.' };

describe('a call that needs the approval of the user', () => {
  let servers: AppServers;
  let services: SeparateServices;
  let user: AppUser;
  /** Earlier tests' model requests. */
  let earlier = 0;

  beforeAll(async () => {
    servers = await startAppServers(
      (message) => (message.includes('drink') ? [{ name: 'remember', arguments: MEMORY }] : []),
      (toolCalls) => [{ text: 'I will save that.' }, { toolCalls }],
    );
    services = await startSeparateServices(servers.env);
  });
  beforeEach(async () => {
    earlier = servers.model.requests.length;
    user = await startAppUser(services, servers);
    await user.permit('memories', 'ask');
  });
  afterEach(() => user?.close());
  afterAll(async () => {
    await services?.close();
    await servers?.close();
  });

  const requests = () => servers.model.requests.slice(earlier).map(({ body }) => body.messages);
  const memories = () =>
    services.query(
      `SELECT m.key, m.content FROM agent_memories m JOIN agents a ON a.id = m.agent_id WHERE a.workspace_id = $1`,
      [user.workspaceId],
    );
  const turnJobs = () =>
    services.query(`SELECT FROM work WHERE kind = 'turn' AND workspace_id = $1`, [user.workspaceId]);
  const kept = () => services.query('SELECT turn_id FROM tool_calls UNION SELECT turn_id FROM turn_contexts');

  /** Asks for something that needs an approval, and waits until the reply ends with a card. */
  async function ask(): Promise<{ card: Card; first: string }> {
    await user.send('I drink green tea');
    const card = await user.card();
    return { card, first: await user.replies(1) };
  }

  it('invariant 7: waits without a job, and continues in a new reply after the approval', async () => {
    const { card, first } = await ask();
    expect(card.content).toMatchObject({
      title: 'Approve? Remembering “tea”',
      description: `Key: “tea”\nCategory: “general”\nContent: “${MEMORY.content}”`,
    });
    expect(user.textOf(first)).toBe('I will save that.');
    expect(await turnJobs()).toEqual([]);
    expect(await memories()).toEqual([]);

    await user.choose(card, 'approve');
    const second = await user.replies(2);
    expect(user.textOf(second)).toBe('Done.');
    expect(await memories()).toEqual([MEMORY]);
    // The second request continues the first one, as if there had been no pause.
    expect(requests()).toHaveLength(2);
    const [before, after] = requests();
    expect(after!.slice(0, before!.length)).toEqual(before);
    expect(after!.slice(before!.length).map(({ role }) => role)).toEqual(['assistant', 'tool']);
    expect(await kept()).toEqual([]);
  });

  it('continues after the runtime was killed while it waited', async () => {
    const { card } = await ask();
    killIfAlive(await services.runtimePid(user.workspaceId));
    await user.choose(card, 'approve');
    expect(user.textOf(await user.replies(2))).toBe('Done.');
    expect(await memories()).toEqual([MEMORY]);
    expect(requests()).toHaveLength(2);
  });

  it('invariant 5: is not executed if the user denies it, and the model learns it', async () => {
    const { card } = await ask();
    await user.choose(card, 'deny');
    await user.replies(2);
    expect(await memories()).toEqual([]);
    expect(JSON.stringify(requests()[1]?.at(-1))).toContain('The user denied this call.');
  });

  it('invariant 5: is executed once if two devices approve it at the same time', async () => {
    const { card } = await ask();
    const answers = await Promise.all([
      user.choose(card, 'approve'),
      user.choose(card, 'approve'),
      user.choose(card, 'deny'),
    ]);
    expect(answers.map(({ status }) => status).filter((status) => status === 200).length).toBeGreaterThan(0);
    await user.replies(2);
    const [approved] = await services.query<{ status: string }>(
      'SELECT status FROM tool_approvals WHERE card_message_id = $1',
      [card.id],
    );
    expect(await memories()).toEqual(approved?.status === 'approved' ? [MEMORY] : []);
    expect(requests()).toHaveLength(2);
  });

  it('invariant 7: can no longer be approved after another message, which is answered', async () => {
    const { card } = await ask();
    await user.send('Never mind');
    expect(user.textOf(await user.replies(2))).toBe('Hello.');
    const updates = user.events.filter(({ name }) => name === 'message.updated');
    const messages = updates.map(({ payload }) => payload['message'] as MessageData);
    expect(messages.findLast(({ id }) => id === card.id)).toMatchObject({ status: 'failed' });
    expect((await user.choose(card, 'approve')).status).toBe(404);
    expect(await memories()).toEqual([]);
    expect(await kept()).toEqual([]);
  });

  it('leaves nothing behind if the user deletes the card', async () => {
    const { card } = await ask();
    await user.api('DELETE', `/v1/workspaces/${user.workspaceId}/messages/${card.id}`);
    expect(await kept()).toEqual([]);
    expect((await user.choose(card, 'approve')).status).toBe(404);
  });

  it('invariant 5: can no longer be approved after it expired', async () => {
    const { card } = await ask();
    await services.query(
      "UPDATE tool_approvals SET expires_at = now() - interval '1 second' WHERE card_message_id = $1",
      [card.id],
    );
    const { status, body } = await user.choose(card, 'approve');
    expect({ status, code: (body as { code: string }).code }).toEqual({ status: 409, code: 'approval_closed' });
    await services.query("UPDATE work SET run_at = now(), attempts = 0 WHERE kind = 'approval-expiry'");
    await user.saw(
      'message.updated',
      ({ message }: { message: MessageData }) => message.id === card.id && message.status === 'failed',
    );
    expect(await kept()).toEqual([]);
    expect(await memories()).toEqual([]);
  });
});
