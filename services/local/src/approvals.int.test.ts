import { randomUUID } from 'node:crypto';
import type { AgentSummary, MessageData } from '@uswarm/contract';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type ModelServer, type ModelServerRequest, startModelServer } from '@uswarm/dev-servers';
import { startTestClient, type TestClient } from '@uswarm/testkit/test-client';
import { killIfAlive, type SeparateServices, startSeparateServices } from '../test/separate.js';

const MEMORY = { key: 'tea', content: 'The user drinks green tea.' };

type Card = MessageData & { content: { type: 'action_card' } };

describe('a call that needs the approval of the user', () => {
  let model: ModelServer;
  let services: SeparateServices;
  let client: TestClient;
  let requests: ModelServerRequest['messages'][] = [];

  beforeAll(async () => {
    model = await startModelServer({
      script: ({ messages }) => {
        requests.push(messages);
        const last = messages.at(-1);
        if (last?.role === 'tool') return [{ text: 'Done.' }];
        return JSON.stringify(last).includes('drink')
          ? [{ text: 'I will save that.' }, { toolCalls: [{ name: 'remember', arguments: MEMORY }] }]
          : [{ text: 'Hello.' }];
      },
    });
    services = await startSeparateServices({
      OPENAI_BASE_URL: model.baseUrl,
      OPENAI_API_KEY: 'test',
      OPENAI_MODEL: 'scripted',
      SUMMARY_WORKERS: '0',
    });
  });
  beforeEach(async () => {
    requests = [];
    const token = await services.issuer.issueToken({ email: `${randomUUID()}@example.com`, name: 'Ada' });
    client = await startTestClient({ ...services, token });
    const { body } = await client.api('GET', `/v1/workspaces/${client.workspaceId}/agents`);
    for (const { id } of (body as { data: AgentSummary[] }).data)
      await client.api('PATCH', `/v1/agents/${id}/tools/memories`, { permission: 'ask' });
  });
  afterEach(() => client?.close());
  afterAll(async () => {
    await services?.close();
    await model?.close();
  });

  const messageOf = ({ payload }: { payload: Record<string, unknown> }) => payload['message'] as MessageData;
  const shownCard = async (): Promise<Card> =>
    messageOf(
      await client.saw(
        'message.new',
        ({ message }: { message: MessageData }) => message.content.type === 'action_card',
      ),
    ) as Card;
  const choose = (card: MessageData, action: string) =>
    client.api('POST', `/v1/workspaces/${client.workspaceId}/messages/${card.id}/action`, {
      action_id: action,
    });
  const done = async (count: number): Promise<string> => {
    let ids: string[] = [];
    await client.saw('message.done', ({ message_id }: { message_id: string }) => {
      ids = [...new Set([...ids, message_id])];
      return ids.length >= count;
    });
    return ids.at(-1)!;
  };
  const textOf = (messageId: string): string | undefined => {
    const seen = client.events.filter(({ name }) => name === 'message.updated').map(messageOf);
    const content = seen.findLast(({ id }) => id === messageId)?.content;
    return content?.type === 'text' ? content.text : undefined;
  };
  const memories = () =>
    services.query(
      `SELECT m.key, m.content FROM agent_memories m JOIN agents a ON a.id = m.agent_id WHERE a.workspace_id = $1`,
      [client.workspaceId],
    );
  const turnJobs = () =>
    services.query(`SELECT FROM work WHERE kind = 'turn' AND workspace_id = $1`, [client.workspaceId]);
  const kept = () => services.query('SELECT turn_id FROM tool_calls UNION SELECT turn_id FROM turn_contexts');

  /** Asks for something that needs an approval, and waits until the reply ends with a card. */
  async function ask(): Promise<{ card: Card; first: string }> {
    await client.send('I drink green tea');
    const card = await shownCard();
    return { card, first: await done(1) };
  }

  it('waits without a job, and continues in a new reply after the approval', async () => {
    const { card, first } = await ask();
    expect(card.content).toMatchObject({
      title: 'Approve? Remembering “tea”',
      description: `Key: “tea”\nCategory: “general”\nContent: “${MEMORY.content}”`,
    });
    expect(textOf(first)).toBe('I will save that.');
    expect(await turnJobs()).toEqual([]);
    expect(await memories()).toEqual([]);

    await choose(card, 'approve');
    const second = await done(2);
    expect(textOf(second)).toBe('Done.');
    expect(await memories()).toEqual([MEMORY]);
    // The second request continues the first one, as if there had been no pause.
    expect(requests).toHaveLength(2);
    expect(requests[1]!.slice(0, requests[0]!.length)).toEqual(requests[0]);
    expect(requests[1]!.slice(requests[0]!.length).map(({ role }) => role)).toEqual(['assistant', 'tool']);
    expect(await kept()).toEqual([]);
  });

  it('continues after the runtime was killed while it waited', async () => {
    const { card } = await ask();
    const [row] = await services.query<{ pid: number }>('SELECT pid FROM runtime_processes WHERE workspace_id = $1', [
      client.workspaceId,
    ]);
    killIfAlive(row!.pid);
    await choose(card, 'approve');
    expect(textOf(await done(2))).toBe('Done.');
    expect(await memories()).toEqual([MEMORY]);
    expect(requests).toHaveLength(2);
  });

  it('is not executed if the user denies it, and the model learns it', async () => {
    const { card } = await ask();
    await choose(card, 'deny');
    await done(2);
    expect(await memories()).toEqual([]);
    expect(JSON.stringify(requests[1]?.at(-1))).toContain('The user denied this call.');
  });

  it('is executed once if two devices approve it at the same time', async () => {
    const { card } = await ask();
    const answers = await Promise.all([choose(card, 'approve'), choose(card, 'approve'), choose(card, 'deny')]);
    expect(answers.map(({ status }) => status).filter((status) => status === 200).length).toBeGreaterThan(0);
    await done(2);
    const [approved] = await services.query<{ status: string }>(
      'SELECT status FROM tool_approvals WHERE card_message_id = $1',
      [card.id],
    );
    expect(await memories()).toEqual(approved?.status === 'approved' ? [MEMORY] : []);
    expect(requests).toHaveLength(2);
  });

  it('can no longer be approved after another message, which is answered', async () => {
    const { card } = await ask();
    await client.send('Never mind');
    expect(textOf(await done(2))).toBe('Hello.');
    const updates = client.events.filter(({ name }) => name === 'message.updated').map(messageOf);
    expect(updates.findLast(({ id }) => id === card.id)).toMatchObject({ status: 'failed' });
    expect((await choose(card, 'approve')).status).toBe(404);
    expect(await memories()).toEqual([]);
    expect(await kept()).toEqual([]);
  });

  it('leaves nothing behind if the user deletes the card', async () => {
    const { card } = await ask();
    await client.api('DELETE', `/v1/workspaces/${client.workspaceId}/messages/${card.id}`);
    expect(await kept()).toEqual([]);
    const entries = `SELECT FROM turn_entries e JOIN turns t ON t.id = e.turn_id WHERE t.workspace_id = $1`;
    expect(await services.query(entries, [client.workspaceId])).toEqual([]);
    expect((await choose(card, 'approve')).status).toBe(404);
  });

  it('can no longer be approved after it expired', async () => {
    const { card } = await ask();
    await services.query(
      "UPDATE tool_approvals SET expires_at = now() - interval '1 second' WHERE card_message_id = $1",
      [card.id],
    );
    const { status, body } = await choose(card, 'approve');
    expect({ status, code: (body as { code: string }).code }).toEqual({ status: 409, code: 'approval_closed' });
    await services.query("UPDATE work SET run_at = now() WHERE kind = 'approval-expiry'");
    await client.saw(
      'message.updated',
      ({ message }: { message: MessageData }) => message.id === card.id && message.status === 'failed',
    );
    expect(await kept()).toEqual([]);
    expect(await memories()).toEqual([]);
  });
});
