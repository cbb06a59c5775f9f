import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { MessageData } from '@uswarm/contract';
import { type ModelServer, startModelServer } from '@uswarm/dev-servers';
import { io, type Socket } from 'socket.io-client';
import { developmentToken, type TestClient, type SeenEvent, startTestClient } from '@uswarm/testkit/test-client';
import { modelSettings } from '../test/model-settings.js';
import { type RunningProgram, runLocalMode } from '../test/local.js';

describe('the realtime interface', () => {
  let model: ModelServer;
  let local: RunningProgram;
  let client: TestClient;
  let token: string;

  beforeAll(async () => {
    model = await startModelServer({
      script: ({ messages }) =>
        JSON.stringify(messages.at(-1)).includes('refuse this')
          ? [{ error: { status: 401, message: 'no' } }]
          : [{ text: 'An answer.' }, { usage: { prompt: 1, completion: 2 } }],
    });
    local = await runLocalMode({
      ...modelSettings(model),
    });
  });
  afterAll(async () => {
    await local?.stop();
    await model?.close();
  });
  beforeEach(async () => {
    token = await developmentToken(local.issuer, `${randomUUID()}@example.com`);
    client = await startTestClient({ restUrl: local.url, socketUrl: local.url, token });
  });
  afterEach(() => client?.close());

  const draft = (more: Record<string, unknown> = {}) => ({
    workspace_id: client.workspaceId,
    conversation_id: client.conversationId,
    local_id: randomUUID(),
    content: { type: 'text', text: 'Hello' },
    mentions: [],
    attachments: [],
    ...more,
  });
  const count = (name: string): number => client.events.filter((event) => event.name === name).length;
  const connection = (options: Parameters<typeof io>[1], namespace = '/v1'): Promise<Socket | Error> =>
    new Promise((resolve) => {
      const socket = io(`${local.url}${namespace}`, { forceNew: true, reconnection: false, ...options });
      socket.once('connect', () => resolve(socket));
      socket.once('connect_error', resolve);
    });

  it('RT-001 RT-004: acknowledges workspace.subscribe with the workspace_ids that belong to the caller', async () => {
    const foreign = randomUUID();
    client.socket.emit('workspace.subscribe', { workspace_ids: [client.workspaceId, foreign] });
    const { payload } = await client.saw(
      'workspace.subscribed',
      ({ rejected }: { rejected: unknown[] }) => rejected.length > 0,
    );
    expect(payload).toMatchObject({
      workspace_ids: [client.workspaceId],
      rejected: [{ workspace_id: foreign, code: 'workspace_not_found' }],
    });
  });

  it('RT-001: treats the workspace of another user as unknown and sends none of its events', async () => {
    const other = await startTestClient({
      restUrl: local.url,
      socketUrl: local.url,
      token: await developmentToken(local.issuer, `${randomUUID()}@example.com`),
    });
    other.socket.emit('workspace.subscribe', { workspace_ids: [client.workspaceId] });
    await other.saw('workspace.subscribed', ({ rejected }: { rejected: unknown[] }) => rejected.length > 0);
    await client.ask('Hello');
    expect(JSON.stringify(other.events.filter(({ name }) => name !== 'workspace.subscribed'))).not.toContain(
      client.workspaceId,
    );
    other.close();
  });

  it('RT-002: sends no events after workspace.unsubscribe', async () => {
    await client.ask('Hello');
    client.socket.emit('workspace.unsubscribe', { workspace_ids: [client.workspaceId] });
    const before = count('message.new');
    const messageId = await client.send('Hello again');
    // The reply exists, but no event announced it.
    const listed = async (): Promise<MessageData[]> => {
      const path = `/v1/workspaces/${client.workspaceId}/conversations/${client.conversationId}/messages`;
      return ((await client.api('GET', path)).body as { data: MessageData[] }).data;
    };
    let messages = await listed();
    while (messages[0]?.id === messageId || messages[0]?.content.type === 'loading') {
      // Below a user's rate limit.
      await sleep(200);
      messages = await listed();
    }
    expect(messages[0]?.content).toEqual({ type: 'text', text: 'An answer.' });
    expect(count('message.new')).toBe(before);
  });

  it('RT-003 STATE-005: acknowledges message.send, stores the message as sent, and ends with message.done', async () => {
    const sent = draft({ content: { type: 'text', text: 'Grüße 👋' } });
    client.socket.emit('message.send', sent);
    const ack = await client.saw('message.send.ack');
    expect(ack.payload).toEqual({ local_id: sent.local_id, message_id: expect.any(String), status: 'received' });
    const created = await client.saw('message.new', ({ message }: { message: MessageData }) => message.role === 'user');
    expect(created.payload['message']).toMatchObject({
      id: ack.payload['message_id'],
      local_id: sent.local_id,
      conversation_id: sent.conversation_id,
      content: sent.content,
    });
    expect((await client.saw('message.done')).payload['status']).toBe('delivered');
  });

  it.each<[string, Record<string, unknown>, string]>([
    [
      'content of a type that clients may not send',
      { content: { type: 'system', text: 'x' } },
      'content_type_not_allowed',
    ],
    ['an empty text', { content: { type: 'text', text: ' ' } }, 'validation_failed'],
    ['a conversation that does not exist', { conversation_id: randomUUID() }, 'conversation_not_found'],
    ['an invalid workspace id', { workspace_id: 'mine' }, 'workspace_not_found'],
    ['a payload of the wrong form', { content: 7 }, 'validation_failed'],
    ['an attachment that was never uploaded', { attachments: [{ id: randomUUID() }] }, 'attachment_invalid'],
  ])('RT-008 ERR-004: reports %s with message.send.error and stores nothing', async (_what, more, code) => {
    const sent = draft(more);
    client.socket.emit('message.send', sent);
    const refused = await client.saw('message.send.error');
    expect(refused.payload).toMatchObject({ local_id: sent.local_id, code, error: expect.any(String) });
    expect(refused.payload['request_id']).toMatch(/.{8}/);
    const path = `/v1/workspaces/${client.workspaceId}/conversations/${client.conversationId}/messages`;
    expect((await client.api('GET', path)).body).toMatchObject({ data: [] });
  });

  it('ERR-005: ends a failed reply with message.done, status failed and the reason', async () => {
    const { answer, done } = await client.ask('Please refuse this');
    expect(done.payload['status']).toBe('failed');
    expect(answer.status).toBe('failed');
    expect(answer.content).toEqual({ type: 'text', text: expect.stringMatching(/\w+ /) });
    const error = ({ status }: { status: string }): boolean => status === 'error';
    const shown: SeenEvent = await client.saw('agent.status', error);
    expect(shown.payload['agent_id']).toBe(done.payload['agent_id']);
  });

  it('RT-013: serves socket.io at /socket.io/ by polling and by WebSocket', async () => {
    for (const transport of ['polling', 'websocket']) {
      const socket = await connection({ path: '/socket.io/', transports: [transport], auth: { 'x-token': token } });
      expect(socket).not.toBeInstanceOf(Error);
      (socket as Socket).disconnect();
    }
  });

  it('RT-014 VER-001: serves REST below /v1/ and the realtime namespace /v1, and rejects others', async () => {
    expect((await client.api('GET', '/v1/workspaces')).status).toBe(200);
    expect(client.socket.connected).toBe(true);
    expect(await connection({ auth: { 'x-token': token } }, '/')).toMatchObject({ data: { code: 'route_not_found' } });
  });

  it('RT-015: authenticates a socket by the headers of a REST call, or by the same names in auth', async () => {
    const ways = [
      { extraHeaders: { 'X-Token': token } },
      { extraHeaders: { Authorization: `Bearer ${token}` } },
      { auth: { 'x-token': token } },
    ];
    for (const way of ways) {
      const socket = await connection(way);
      expect(socket).not.toBeInstanceOf(Error);
      (socket as Socket).disconnect();
    }
    expect(await connection({})).toMatchObject({ data: { code: 'token_missing' } });
    expect(await connection({ auth: { 'x-token': 'nonsense' } })).toMatchObject({ data: { code: 'token_invalid' } });
  });
});
