import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { MessageData, Workspace } from '@uswarm/contract';
import { createStores } from '../../test/stores.js';
import { first, startTestOrchestrator, type TestOrchestrator, type TestUser } from '../../test/test-orchestrator.js';
import { withoutAfterCommit } from '../../test/transaction.js';

const ISO = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/;
const UUID_V7 = /^[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/;

describe('workspaces', () => {
  let uswarm: TestOrchestrator;
  beforeAll(async () => {
    uswarm = await startTestOrchestrator();
  });
  afterAll(() => uswarm.close());

  const list = async (user: TestUser) => (await user.get<{ data: Workspace[] }>('/v1/workspaces')).body.data;
  const get = async (user: TestUser, id: string) =>
    (await user.get<{ data: Workspace }>(`/v1/workspaces/${id}`)).body.data;
  const only = async (user: TestUser) => first(await list(user));
  const setRuntime = (workspaceId: string, values: Record<string, unknown>) =>
    uswarm.database.updateTable('runtimes').set(values).where('workspace_id', '=', workspaceId).execute();

  it('REST-015 RES-001 GET /v1/workspaces lists only the workspaces of the caller', async () => {
    const [one, other] = [await uswarm.user(), await uswarm.user()];
    const { workspaceId } = await uswarm.home(one);
    expect((await list(one)).map(({ id }) => id)).toEqual([workspaceId]);
    expect((await list(other)).map(({ id }) => id)).not.toContain(workspaceId);
  });

  it('REST-015 lists several workspaces, oldest first', async () => {
    const user = await uswarm.user();
    const oldest = await only(user);
    const { id: owner } = await uswarm.database
      .selectFrom('users')
      .select('id')
      .where('email', '=', user.email)
      .executeTakeFirstOrThrow();
    const more = [crypto.randomUUID(), crypto.randomUUID()];
    for (const id of more)
      await uswarm.database.insertInto('workspaces').values({ id, owner_id: owner, name: id }).execute();
    expect((await list(user)).map(({ id }) => id)).toEqual([oldest.id, ...more]);
  });

  it('REST-016 GET /v1/workspaces/{id} returns one workspace as the list does', async () => {
    const user = await uswarm.user();
    const listed = await only(user);
    expect(await get(user, listed.id)).toEqual(listed);
  });

  it('RES-031 the id is a lower-case UUIDv7', async () => {
    expect((await only(await uswarm.user())).id).toMatch(UUID_V7);
  });

  it('RES-032 the first workspace has a name', async () => {
    expect((await only(await uswarm.user())).name).toBe('My workspace');
  });

  it('RES-033 created_at and updated_at are timestamps', async () => {
    const { created_at, updated_at } = await only(await uswarm.user());
    expect({ created_at, updated_at }).toEqual({
      created_at: expect.stringMatching(ISO),
      updated_at: expect.stringMatching(ISO),
    });
  });

  it('RES-034 RES-035 the runtime of a new workspace is provisioning and not verified, and has the number of agents', async () => {
    const user = await uswarm.user();
    const { agents } = await uswarm.home(user);
    expect((await only(user)).runtime).toMatchObject({
      status: 'provisioning',
      phase: 'Pending',
      verified: false,
      total_agents: agents.length,
    });
  });

  it.each([
    ['Progressing', {}, { status: 'provisioning', phase: 'Progressing' }],
    ['Ready', {}, { status: 'ready', phase: 'Ready' }],
    ['Ready', { silent_since: new Date(Date.now() - 61_000) }, { status: 'offline', phase: 'Ready' }],
    ['Suspended', {}, { status: 'offline', phase: 'Pending' }],
    ['Error', {}, { status: 'failed', phase: 'Error' }],
    ['Deleting', {}, { status: 'offline', phase: 'Pending' }],
  ])('RES-035 a runtime in phase %s with %j shows as %j', async (phase, values, shown) => {
    const user = await uswarm.user();
    const { id } = await only(user);
    await setRuntime(id, { phase, ...values });
    expect((await get(user, id)).runtime).toMatchObject(shown);
  });

  it('RES-035 verified is true after the runtime has identified itself', async () => {
    const user = await uswarm.user();
    const { id } = await only(user);
    await setRuntime(id, { phase: 'Ready', verified: true });
    expect((await get(user, id)).runtime.verified).toBe(true);
  });

  it('RES-036 last_message_preview is null in an empty workspace', async () => {
    expect((await only(await uswarm.user())).runtime.last_message_preview).toBeNull();
  });

  it('RES-036 last_message_preview is the newest message of all conversations in a single line', async () => {
    const user = await uswarm.user();
    const home = await uswarm.home(user);
    const agent = { type: 'agent', agent_id: home.agents[2]?.id };
    const { body } = await user.post<{ data: { id: string } }>(`${home.workspace}/conversations`, agent, 201);
    const say = (path: string, text: string) =>
      user.post<{ data: MessageData }>(path, { content: { type: 'text', text } }, 201);
    await say(home.messages, 'older');
    const newest = await say(`${home.workspace}/conversations/${body.data.id}/messages`, '  two\n lines ');
    expect((await get(user, home.workspaceId)).runtime.last_message_preview).toEqual({
      text: 'two lines',
      sender_name: user.name,
      timestamp: newest.body.data.created_at,
    });
  });

  it('RES-036 the sender is the nickname of the user if it is set', async () => {
    const user = await uswarm.user();
    const home = await uswarm.home(user);
    await user.patch('/v1/users', { nickname: 'countess' }, 204);
    await user.post(home.messages, { content: { type: 'text', text: 'hi' } }, 201);
    expect((await get(user, home.workspaceId)).runtime.last_message_preview?.sender_name).toBe('countess');
  });

  it('RES-036 the sender of a system message is the platform and not the user, also in events', async () => {
    const user = await uswarm.user();
    const { workspaceId, conversationId } = await uswarm.home(user);
    const content = { type: 'system', text: 'The workflow is completed.' } as const;
    const note = {
      id: crypto.randomUUID(),
      workspaceId,
      conversationId,
      role: 'system',
      content,
      status: 'delivered',
    } as const;
    const { events } = createStores(uswarm.database);
    await uswarm.database.transaction().execute((tx) => events.addMessage(note, withoutAfterCommit(tx)));
    const preview = { text: content.text, sender_name: 'uswarm' };
    expect((await get(user, workspaceId)).runtime.last_message_preview).toMatchObject(preview);

    await user.patch(`/v1/workspaces/${workspaceId}`, { name: 'Renamed' }, 200);
    const { body } = await user.get<{ data: { event: string; payload: object }[] }>(
      `/v1/workspaces/${workspaceId}/events`,
    );
    const updates = body.data.filter(({ event }) => event === 'workspace.updated').map(({ payload }) => payload);
    expect(updates).toMatchObject([{ workspace: { runtime: { last_message_preview: preview } } }]);
  });

  it('a workspace of another user returns the same error as an unknown or malformed id', async () => {
    const [owner, other] = [await uswarm.user(), await uswarm.user()];
    const { id } = await only(owner);
    for (const path of [id, crypto.randomUUID(), id.toUpperCase(), 'x', '%00', `${id}%20`]) {
      expect(await other.refusal('GET', `/v1/workspaces/${path}`)).toBe('workspace_not_found');
    }
  });
});
