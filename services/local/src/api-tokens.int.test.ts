import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { NewApiToken, Workspace } from '@uswarm/contract';
import { eventually } from '@uswarm/testkit/eventually';
import { developmentToken, startTestClient, type TestClient } from '@uswarm/testkit/test-client';
import { io, type Socket } from 'socket.io-client';
import { type RunningProgram, runLocalMode } from '../test/local.js';

interface Program {
  socket: Socket;
  events: string[];
  id: string;
}

describe('programs with an API token', () => {
  let local: RunningProgram;
  let user: TestClient;
  let other: Workspace;
  let programs: Program[];
  beforeAll(async () => {
    local = await runLocalMode();
  });
  afterAll(() => local?.stop());
  beforeEach(async () => {
    programs = [];
    const token = await developmentToken(local.issuer, `${randomUUID()}@example.com`);
    user = await startTestClient({ restUrl: local.url, socketUrl: local.url, token });
    other = (await call<Workspace>('POST', '/v1/workspaces', { name: 'Other' })).data;
  });
  afterEach(() => {
    for (const { socket } of programs) socket.disconnect();
    user?.close();
  });

  const call = async <Data>(method: string, path: string, body?: unknown): Promise<{ data: Data }> =>
    (await user.api(method, path, body)).body;
  const create = async (scopes: string[], workspaceIds?: string[]): Promise<NewApiToken> =>
    (await call<NewApiToken>('POST', '/v1/api-tokens', { name: 'CI', scopes, workspace_ids: workspaceIds })).data;

  async function connect({ token, id }: NewApiToken): Promise<Program> {
    const socket = io(`${local.url}/v1`, { forceNew: true, auth: { 'x-token': token } });
    const program: Program = { socket, events: [], id };
    programs.push(program);
    socket.onAny((name: string, payload: { code?: string }) =>
      program.events.push([name, payload.code].join(' ').trim()),
    );
    await eventually(() => socket.connected);
    return program;
  }
  const subscribe = ({ socket }: Program, ...ids: string[]): Promise<unknown> =>
    socket.timeout(60_000).emitWithAck('workspace.subscribe', { workspace_ids: ids });
  const send = ({ socket }: Program): Promise<unknown> =>
    socket.timeout(60_000).emitWithAck('message.send', {
      workspace_id: user.workspaceId,
      conversation_id: user.conversationId,
      local_id: randomUUID(),
      content: { type: 'text', text: 'hello' },
    });

  it('receive events of their workspaces only', async () => {
    const program = await connect(await create(['read'], [user.workspaceId]));
    expect(await subscribe(program, user.workspaceId, other.id)).toMatchObject({
      ok: true,
      workspace_ids: [user.workspaceId],
      rejected: [{ workspace_id: other.id, code: 'workspace_not_found' }],
    });
  });

  it('are not told about other workspaces that the user creates or deletes', async () => {
    const [limited, full] = [
      await connect(await create(['read'], [user.workspaceId])),
      await connect(await create(['read'])),
    ];
    const { data: third } = await call<Workspace>('POST', '/v1/workspaces', { name: 'Third' });
    await user.api('DELETE', `/v1/workspaces/${third.id}`);
    await eventually(() => full.events.includes('workspace.deleted'));
    await user.api('DELETE', `/v1/workspaces/${user.workspaceId}`);
    await eventually(() => limited.events.includes('workspace.deleted'));
    const ofLists = ({ events }: Program) => events.filter((name) => /^workspace\.(new|deleted)$/.test(name));
    expect({ limited: ofLists(limited), full: ofLists(full) }).toEqual({
      limited: ['workspace.deleted'],
      full: ['workspace.new', 'workspace.deleted', 'workspace.deleted'],
    });
  });

  it('send messages only if they may write, and only to their workspaces', async () => {
    const answers = await Promise.all([
      connect(await create(['read'])).then(send),
      connect(await create(['write'], [other.id])).then(send),
      connect(await create(['write'], [user.workspaceId])).then(send),
    ]);
    expect(answers).toMatchObject([{ code: 'token_not_permitted' }, { code: 'workspace_not_found' }, { ok: true }]);
  });

  it('lose socket and event stream when the token is revoked, and keep them when the user signs out everywhere', async () => {
    const [revoked, kept] = [await create(['read']), await create(['read'])];
    const [ending, staying] = [await connect(revoked), await connect(kept)];
    const stream = await fetch(`${local.url}/v1/stream?workspace_id=${user.workspaceId}`, {
      headers: { authorization: `Bearer ${revoked.token}` },
    });
    await user.api('DELETE', `/v1/api-tokens/${revoked.id}`);
    expect(await stream.text()).toContain('"code":"logged_out","reconnect":false');
    await eventually(() => !ending.socket.connected);
    await user.api('POST', '/v1/auth/logout-all');
    await user.saw('session.ending');
    expect(await subscribe(staying, user.workspaceId)).toMatchObject({ ok: true, workspace_ids: [user.workspaceId] });
    expect({
      ending: ending.events.at(-1),
      staying: staying.events.filter((name) => name.startsWith('session.ending')),
    }).toEqual({
      ending: 'session.ending logged_out',
      staying: [],
    });
  });

  it('cannot give a socket more than its token permits with another token', async () => {
    const program = await connect(await create(['read'], [user.workspaceId]));
    const renew = ({ token }: NewApiToken): Promise<unknown> =>
      program.socket.timeout(60_000).emitWithAck('session.renew', { credentials: { 'x-token': token } });
    expect(await renew(await create(['write']))).toMatchObject({ code: 'token_not_permitted' });
    expect(await renew(await create(['read'], [user.workspaceId]))).toMatchObject({ ok: true });
  });
});
