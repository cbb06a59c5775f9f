import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Conversation, MessageData, ServerEventPayload } from '@uswarm/contract';
import { byTier } from '@uswarm/testkit/tier';
import fc from 'fast-check';
import { MergingClient, type Received } from '../../test/revisions/merging-client.js';
import { WorkspaceWriter, writes } from '../../test/revisions/workspace-writer.js';
import { startTestOrchestrator, type TestOrchestrator } from '../../test/test-orchestrator.js';

const RUNS = byTier({ core: 10, all: 25 });
const TIMEOUT_MS = 300_000;

describe('revisions', () => {
  let uswarm: TestOrchestrator;
  beforeAll(async () => {
    uswarm = await startTestOrchestrator({
      environment: { RATE_IP_PER_S: '0', RATE_USER_PER_S: '0', RATE_SENDS_PER_S: '0' },
    });
  });
  afterAll(() => uswarm.close());

  const start = async () => {
    const user = await uswarm.user();
    const home = await uswarm.home(user);
    return { user, home, writer: new WorkspaceWriter({ uswarm, user, home }) };
  };

  /** Writes, and collects what clients can receive meanwhile: events with early and late bodies, and responses. */
  async function collect(writer: WorkspaceWriter, schedule: Parameters<WorkspaceWriter['write']>[0][]) {
    const received: Received[] = await writer.objects();
    let position = 0;
    for (const write of schedule) {
      await writer.write(write);
      const { events, lastSeq } = await writer.events(position);
      position = lastSeq;
      received.push(...events, ...(write.pick % 3 === 0 ? await writer.objects() : []));
    }
    received.push(...(await writer.events(0)).events);
    return received;
  }

  it(
    'let a client that receives events and responses in any order, repeatedly, show what the last response shows',
    () =>
      fc.assert(
        fc.asyncProperty(writes, fc.infiniteStream(fc.nat()), async (schedule, numbers) => {
          const { writer } = await start();
          const received = await collect(writer, schedule);
          const expected = await writer.shown();
          const shuffled = [...received, ...received]
            .map((one) => ({ one, order: numbers.next().value as number }))
            .toSorted((a, b) => a.order - b.order);
          const client = new MergingClient();
          for (const { one } of shuffled) client.receive(one);
          expect(client.shown()).toEqual(expected);
        }),
        { numRuns: RUNS },
      ),
    TIMEOUT_MS,
  );

  it(
    'make a response and the events after its position the state, whatever is written while it is read',
    () =>
      fc.assert(
        fc.asyncProperty(writes, async (schedule) => {
          const { writer } = await start();
          const writing = (async () => {
            for (const write of schedule) await writer.write(write);
          })();
          const { objects, position } = await writer.objectsWithPosition();
          await writing;
          const client = new MergingClient();
          for (const one of [...objects, ...(await writer.events(position)).events]) client.receive(one);
          expect(client.shown()).toEqual(await writer.shown());
        }),
        { numRuns: RUNS },
      ),
    TIMEOUT_MS,
  );

  it('let the second device of a user see that the first one has read a conversation', async () => {
    const { user, home, writer } = await start();
    for (const kind of ['say', 'begin reply', 'end reply'] as const) await writer.write({ kind, pick: 0 });
    const second = new MergingClient();
    for (const one of await writer.objects()) second.receive(one);
    expect(second.shown().conversations[home.conversationId]?.unread).toBe(1);
    const { lastSeq } = await writer.events(0);
    await user.post(`${home.conversation}/read`, {}, 204);
    for (const one of (await writer.events(lastSeq)).events) second.receive(one);
    expect(second.shown()).toEqual(await writer.shown());
    expect(second.shown().conversations[home.conversationId]?.unread).toBe(0);
  });

  it('are not higher than the sequence of an event about a message, so that they hide no other change', async () => {
    const { user, home, writer } = await start();
    for (const kind of ['say', 'begin reply', 'end reply'] as const) await writer.write({ kind, pick: 0 });
    await user.post(`${home.conversation}/read`, {}, 204);
    const { events } = await writer.events(0);
    const changes = events.flatMap((one) => {
      if (!('payload' in one) || !one.event.startsWith('message.')) return [];
      const { seq, conversation, workspace } = one.payload as unknown as ServerEventPayload<'message.new'>;
      return [conversation, workspace].flatMap((change) => (change === undefined ? [] : [{ rev: change.rev, seq }]));
    });
    expect(changes.length).toBeGreaterThan(2);
    for (const { rev, seq } of changes) expect(rev).toBe(seq);
  });

  it('rise for the message, its conversation and the workspace with each change of a message', async () => {
    const { user, home } = await start();
    const revs = async () => {
      const conversation = (await user.get<{ data: Conversation }>(home.conversation)).body.data;
      const workspace = (await user.get<{ data: { rev: number } }>(home.workspace)).body.data;
      return { message: conversation.last_message?.rev, conversation: conversation.rev, workspace: workspace.rev };
    };
    const content = { type: 'text', text: 'one' };
    const { id } = (await user.post<{ data: MessageData }>(home.messages, { content }, 201)).body.data;
    expect(await revs()).toEqual({ message: 1, conversation: 1, workspace: 1 });
    await user.patch(`${home.workspace}/messages/${id}`, { content: { type: 'text', text: 'two' } }, 200);
    expect(await revs()).toEqual({ message: 2, conversation: 3, workspace: 4 });
  });

  it('belong to the position in X-Workspace-Position of their response, or a later one', async () => {
    const { user, home, writer } = await start();
    await writer.write({ kind: 'say', pick: 0 });
    const paths = [
      home.workspace,
      `${home.workspace}/conversations`,
      home.conversation,
      home.messages,
      `${home.messages}/search?q=say`,
      `${home.workspace}/agents`,
      `/v1/agents/${home.agents[0]?.id}`,
      `/v1/agents/${home.agents[0]?.id}/details`,
      `/v1/agents/${home.agents[0]?.id}/history`,
    ];
    const positions = await Promise.all(
      paths.map(async (path) => (await user.get(path)).headers['x-workspace-position']),
    );
    expect(new Set(positions)).toEqual(new Set([expect.stringMatching(/^[a-z0-9]+:1$/)]));
    const missing = await user.raw({ method: 'GET', path: `${home.workspace}/conversations/${crypto.randomUUID()}` });
    expect({ status: missing.status, position: missing.headers['x-workspace-position'] }).toEqual({ status: 404 });
  });
});
