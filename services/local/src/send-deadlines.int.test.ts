import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { describeWith } from '@uswarm/testkit';
import { type TestClient, startTestClient } from '@uswarm/testkit/test-client';
import { type SeparateServices, startSeparateServices } from '../test/separate.js';

interface Answer {
  ok?: true;
  message_id?: string;
  code?: string;
  extra?: { stored?: unknown };
}

describeWith('valkey', 'a send whose workspace is locked for longer than its deadline', () => {
  let services: SeparateServices;
  let client: TestClient;
  beforeAll(async () => {
    // Messages are stored without replies.
    services = await startSeparateServices({ TURN_WORKERS: '0', RUNTIME_WORKERS: '0' });
  });
  afterAll(() => services?.close());
  beforeEach(async () => {
    const token = await services.issuer.issueToken({ email: `${randomUUID()}@example.com`, name: 'Ada' });
    client = await startTestClient({ ...services, token });
  });
  afterEach(() => client?.close());

  const draft = (local_id: string) => ({
    workspace_id: client.workspaceId,
    conversation_id: client.conversationId,
    local_id,
    content: { type: 'text', text: local_id },
  });
  const send = (localId: string): Promise<Answer> =>
    client.socket.timeout(150_000).emitWithAck('message.send', draft(localId));
  /** The stored messages in the order of their seq. */
  const stored = async (): Promise<string[]> => {
    const sql = 'SELECT local_id FROM messages WHERE workspace_id = $1 AND local_id IS NOT NULL ORDER BY seq';
    const rows = await services.query<{ local_id: string }>(sql, [client.workspaceId]);
    return rows.map(({ local_id }) => local_id);
  };

  it('I12 is refused and never stored, and a send behind it is stored after it or alone', async () => {
    const unlock = await services.lockWorkspace(client.workspaceId);
    const [a, b] = [send('a'), send('b')];
    const refused = { code: 'service_unavailable', extra: { stored: 'no' } };
    expect(await a).toMatchObject(refused);
    expect(await client.saw('message.send.error')).toMatchObject({ payload: { local_id: 'a', stored: 'no' } });
    // The send behind it waits for the lock now.
    await unlock();
    expect(await b).toMatchObject({ ok: true });
    expect(await send('c')).toMatchObject({ ok: true });
    expect(await stored()).toEqual(['b', 'c']);
    expect(await send('a')).toMatchObject({ ok: true });
    expect(await stored()).toEqual(['b', 'c', 'a']);
  });

  it('I12 that waits before the deadline of its lookup is not stored after its result was unknown', async () => {
    const unlock = await services.lockTable('workspaces');
    const [a, b] = [send('a'), send('b')];
    expect(await a).toMatchObject({ code: 'service_unavailable', extra: { stored: 'unknown' } });
    await unlock();
    expect(await b).toMatchObject({ ok: true });
    expect(await send('c')).toMatchObject({ ok: true });
    expect(await stored()).toEqual(['b', 'c']);
  });
});
