import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@uswarm/testkit/eventually';
import { type SeparateServices, startSeparateServices } from '../test/separate.js';
import { type SpecificationClient, startSpecificationClient } from '../test/specification-client.js';

/** More choices than a scene asks for. */
const MAX_CHOICES = 5;

describe('a client that knows only the specification', () => {
  let services: SeparateServices;
  let client: SpecificationClient;
  beforeAll(async () => {
    services = await startSeparateServices({ SUMMARY_WORKERS: '0', USWARM_DEMO_DELAY_MS: '0' });
    const token = await services.issuer.issueToken({ email: `${randomUUID()}@example.com`, name: 'Ada' });
    client = await startSpecificationClient(services, token);
  });
  afterAll(async () => {
    client?.close();
    await services?.close();
  });

  /** Waits until nothing runs and the client has received everything. */
  async function settled(conversationId: string): Promise<void> {
    const unfinished = () =>
      services.query(
        `SELECT id FROM turns WHERE workspace_id = $1 AND status IN ('queued', 'running')
         UNION ALL SELECT id FROM workflows WHERE workspace_id = $1 AND status = 'running' AND NOT EXISTS (
           SELECT FROM tool_approvals a JOIN turns t ON t.id = a.turn_id WHERE t.workspace_id = $1 AND a.status = 'open')`,
        [client.workspaceId],
      );
    await eventually(unfinished, { until: (rows) => rows.length === 0, timeoutMs: 120_000 });
    const byId = <One extends { id: string }>(all: One[]): One[] => all.toSorted((a, b) => (a.id < b.id ? -1 : 1));
    const listed = byId(await client.listed(conversationId));
    await eventually(async () => byId(client.shown(conversationId)), {
      until: (shown) => JSON.stringify(shown) === JSON.stringify(listed),
      timeoutMs: 15_000,
    }).catch(() => expect(byId(client.shown(conversationId))).toEqual(listed));
  }

  /** Plays a scene of the demo model, and takes an action on each card. @returns the conversation */
  async function play(request: string, action: number): Promise<string> {
    const conversation = await client.open();
    await client.send(conversation, request);
    await settled(conversation);
    for (let choices = 0; choices < MAX_CHOICES && (await client.choose(conversation, action)); choices += 1)
      await settled(conversation);
    return conversation;
  }

  const texts = (conversation: string): string[] =>
    client.shown(conversation).flatMap(({ id, role, type }) => (role === 'agent' && type === 'text' ? [id] : []));

  async function scenes(): Promise<string[]> {
    const conversation = await play('show me everything', 0);
    const text = client.shown(conversation).map((bubble) => bubble.text);
    return text.join('\n').match(/(?<=^- “)[^”]+/gm) ?? [];
  }

  it.each([
    ['approves', 0],
    ['denies', 1],
  ])(
    'shows one end per text of an agent, and no empty bubble, in each demo scene, if the user %s',
    async (_what, action) => {
      const agents = (await client.api('GET', `/v1/workspaces/${client.workspaceId}/agents`)).data as { id: string }[];
      for (const { id } of agents) await client.api('PATCH', `/v1/agents/${id}/tools/memories`, { permission: 'ask' });
      const requests = await scenes();
      expect(requests.length).toBeGreaterThan(15);
      for (const request of requests) {
        const conversation = await play(request, action);
        // `message.done` follows the event with the text.
        await eventually(async () => client.ends(conversation), {
          until: (ends) => texts(conversation).every((id) => ends[id] !== undefined),
          timeoutMs: 15_000,
        }).catch(() => undefined);
        expect({
          request,
          faults: client.faults(conversation),
          ends: client.ends(conversation),
          unfinished: client.unfinished(conversation),
        }).toEqual({
          request,
          faults: [],
          ends: Object.fromEntries(texts(conversation).map((id) => [id, 1])),
          unfinished: [],
        });
      }
    },
  );

  it('has nothing between the question, the delegation and the answer', async () => {
    const conversation = await play('delegate to the researcher', 0);
    const types = (await client.listed(conversation)).map(({ role, type }) => `${role} ${type}`);
    expect(types).toEqual(['user text', 'agent delegation', 'agent text']);
  });
});
