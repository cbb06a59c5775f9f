import { describe, expect, it } from '@jest/globals';
import { eventually } from '@uswarm/testkit/eventually';
import { type Http, UswarmError } from './api.js';
import { fold, putCopy, swarmOf } from './fold.js';
import { createDatabase } from './store.js';
import { createLoader } from './workspace.js';

const W = 'w1';
type Agent = { id: string; name: string; avatar: string };
const ADA: Agent = { id: 'a1', name: 'Ada', avatar: '/ada.svg' };

/** A service with one workspace. Each answer about its agents waits until the test gives it. */
function startService() {
  const workspace = { id: W, name: 'w', rev: 1, agents_rev: 1 as number | undefined };
  const service = { workspace, agents: [ADA], waiting: [] as (() => void)[], failing: false };
  async function answer(path: string): Promise<unknown> {
    if (path === '/v1/workspaces') return [service.workspace];
    if (path === '/v1/workspaces/{id}') return service.workspace;
    if (!path.endsWith('/agents')) return [];
    const agents = [...service.agents];
    await new Promise<void>((resolve) => service.waiting.push(resolve));
    if (service.failing) throw new UswarmError('token_expired', undefined, 401);
    return agents;
  }
  async function send(_method: string, path: string) {
    return { body: { data: await answer(path) }, position: 'e:1' };
  }
  const http = { send, api: { get: async (path: string) => (await send('get', path)).body } } as unknown as Http;
  return Object.assign(service, { http });
}

async function startClient() {
  const service = startService();
  const db = createDatabase(undefined, (changes) => {
    if ([...changes.keys()].some((key) => key.startsWith('workspaces/'))) loader.follow();
  });
  const loader = createLoader(db, service.http, new Map());
  const give = async () => (await eventually(() => service.waiting.shift(), { until: (one) => one !== undefined }))?.();
  const message = {
    id: 'm1',
    conversation_id: 'c1',
    role: 'agent',
    position: '1',
    local_id: null,
    content: { type: 'text', text: 'Hello.' },
    agent: { ...ADA },
  };
  /** An event about the workspace, which has these agents from now on. */
  async function change(agents: Agent[]): Promise<void> {
    const { rev, agents_rev: before = 0 } = service.workspace;
    service.workspace = { ...service.workspace, rev: rev + 1, agents_rev: before + 1 };
    service.agents = agents;
    const payload = { workspace_id: W, seq: rev + 1, workspace: service.workspace };
    await db.update((draft) => fold(draft, W, 'workspace.updated', payload, 0));
  }
  const names = () => swarmOf(db.records, W, 0).agents.map(({ name }) => name);
  const become = (wanted: string[]) => eventually(names, { until: (all) => all.join() === wanted.join() });
  const prepared = loader.prepare(() => true);
  await give();
  await prepared;
  await db.update((draft) => fold(draft, W, 'message.new', { workspace_id: W, seq: 2, message }, 0));
  return { service, db, loader, give, change, names, become };
}

describe('the agents of a workspace', () => {
  it('are loaded again when an event has another agents_rev', async () => {
    const { change, give, become, names } = await startClient();
    await change([ADA, { ...ADA, id: 'a2', name: 'Grace' }]);
    expect(names()).toEqual(['Ada']);
    await give();
    await become(['Ada', 'Grace']);
  });

  it('are not loaded for a change of the workspace that keeps agents_rev', async () => {
    const { service, db, loader } = await startClient();
    const renamed = { ...service.workspace, name: 'other', rev: 9 };
    await db.update((draft) => putCopy(draft, `workspaces/${W}`, renamed));
    await db.update((draft) => putCopy(draft, `workspaces/${W}`, { rev: 10, unread_count: 1 } as object));
    loader.fill();
    expect(service.waiting).toEqual([]);
  });

  it('are not loaded again from a service of an earlier release, which has no agents_rev', async () => {
    const { service, db, loader } = await startClient();
    const { agents_rev: _, ...earlier } = service.workspace;
    await db.update((draft) => draft.set(`${W}/agents-rev`));
    await db.update((draft) => putCopy(draft, `workspaces/${W}`, { ...earlier, rev: 9 } as object));
    loader.fill();
    expect(service.waiting).toEqual([]);
  });

  it('are the newest ones when the answers of two changes arrive in the wrong order', async () => {
    const { service, change, become, names } = await startClient();
    await change([{ ...ADA, name: 'First' }]);
    await change([{ ...ADA, name: 'Second' }]);
    const [first, second] = service.waiting;
    second?.();
    await become(['Second']);
    first?.();
    await new Promise((resolve) => setTimeout(resolve, 5));
    expect(names()).toEqual(['Second']);
  });

  it('are asked for once while an answer is awaited, and again after a failure', async () => {
    const { service, loader, change, give, become } = await startClient();
    await change([{ ...ADA, name: 'Grace' }]);
    loader.fill();
    loader.follow();
    expect(service.waiting).toHaveLength(1);
    service.failing = true;
    await give();
    await eventually(
      () => {
        loader.fill();
        return service.waiting.length;
      },
      { until: (count) => count === 1 },
    );
    service.failing = false;
    await give();
    await become(['Grace']);
  });

  it('give their new names and pictures to the messages that are loaded', async () => {
    const { db, change, give, become } = await startClient();
    await change([{ ...ADA, name: 'Grace', avatar: '/grace.svg' }]);
    await give();
    await become(['Grace']);
    expect(db.records.get(`${W}/message/m1`)).toMatchObject({
      agent: { id: 'a1', name: 'Grace', avatar: '/grace.svg' },
    });
  });

  it('leave their messages as they were when they are deleted', async () => {
    const { db, change, give, become } = await startClient();
    await change([]);
    await give();
    await become([]);
    expect(db.records.get(`${W}/message/m1`)).toMatchObject({ agent: ADA });
  });
});
