import { describe, expect, it } from '@jest/globals';
import type { Artifact, ArtifactPage, ErrorBody } from '@uswarm/contract';
import { createWithTransaction } from '../../platform/database/transaction.js';
import { beginToolTurn } from '../../../test/tool-turn.js';
import { type TurnFixture, useTurnFixture } from '../../../test/turn-fixture.js';
import { createFileObjects } from '../uploads/file-objects.js';
import { createArtifactContents } from './artifact-contents.js';
import { createArtifactTools } from './artifact-tools.js';
import { loadHistory } from '../../turns/turns.store.js';

const UNKNOWN = '00000000-0000-7000-8000-000000000000';
const idIn = (text: string): string => /[\da-f-]{36}/.exec(text)?.[0] ?? '';

describe('the tools for artifacts', () => {
  const world = useTurnFixture();

  const begin = async (
    limits: Partial<Parameters<typeof createArtifactTools>[0]['limits']> = {},
    of: Readonly<TurnFixture> = world,
  ) => {
    const { stores } = world.turnWorker;
    const tools = createArtifactTools({
      database: stores.database,
      contents: createArtifactContents({
        withTransaction: createWithTransaction(world.uswarm.database),
        jobs: stores.jobs,
        objects: createFileObjects(world.uswarm.objectDirectory),
      }),
      limits: { perWorkspace: 1_000, versions: 100, bytes: 65_536, ...limits },
    });
    const begun = await beginToolTurn(of, tools);
    const path = `/v1/workspaces/${begun.turn.workspace_id}/artifacts`;
    const list = async () => (await world.user.get<ArtifactPage>(path)).body.data;
    const get = async (id: string, query = '') =>
      (await world.user.get<{ data: Artifact }>(`${path}/${id}${query}`)).body.data;
    /** The turn's messages that show artifacts. */
    const shown = async () =>
      (
        await world.uswarm.database
          .selectFrom('messages')
          .select('content')
          .where('turn_id', '=', begun.turn.id)
          .where('turn_key', 'like', 'platform:%')
          .execute()
      ).map(({ content }) => content);
    const created = async (title = 'List', content = '- tea') =>
      idIn((await begun.call('create_artifact', { title, content })).text);
    return { ...begun, path, list, get, shown, created };
  };

  it('RES-072 create, revise and finish an artifact, which a message shows with its six fields', async () => {
    const { call, list, get, shown, created } = await begin();
    const id = await created('Shopping list', '- tea');
    expect(await shown()).toEqual([
      {
        type: 'artifact',
        artifact_id: id,
        title: 'Shopping list',
        version: 1,
        status: 'draft',
        agent_slug: 'manager',
        content_preview: '- tea',
      },
    ]);
    await call('revise_artifact', { artifact_id: id, expected_version: 1, content: '- tea\n- bread' });
    await call('finish_artifact', { artifact_id: id });
    expect(await shown()).toMatchObject([{ version: 2, status: 'final', content_preview: '- tea\n- bread' }]);
    expect(await list()).toMatchObject([{ id, title: 'Shopping list', version: 2, status: 'final', size: 13 }]);
    expect(await get(id)).toMatchObject({ version: 2, latest_version: 2, content: '- tea\n- bread' });
    expect(await get(id, '?version=1')).toMatchObject({
      version: 1,
      status: 'draft',
      latest_version: 2,
      content: '- tea',
      versions: [{ version: 2 }, { version: 1 }],
    });
  });

  it('do not overwrite a version that the agent has not read', async () => {
    const { call, get, created } = await begin();
    const id = await created();
    const revise = (content: string) => call('revise_artifact', { artifact_id: id, expected_version: 1, content });
    expect(await revise('second')).toMatchObject({ failed: false });
    expect(await revise('other second')).toMatchObject({
      failed: true,
      text: 'The artifact has version 2. Read it, and change that version.',
    });
    expect(await get(id)).toMatchObject({ version: 2, content: 'second' });
  });

  it('change one passage, and keep the rest and the title', async () => {
    const { call, get, created } = await begin();
    const id = await created('Trip', 'Day 1: Rome\nDay 2: Pisa');
    expect(await call('edit_artifact', { artifact_id: id, old: 'Pisa', new: 'Siena' })).toMatchObject({
      failed: false,
      text: 'Saved version 2, a draft.',
    });
    expect(await get(id)).toMatchObject({ version: 2, title: 'Trip', content: 'Day 1: Rome\nDay 2: Siena' });
  });

  it.each([
    ['is missing', { old: 'Venice', new: 'x' }, 'does not contain the passage'],
    ['occurs twice', { old: 'Day', new: 'x' }, 'occurs several times'],
    ['is everything', { old: 'Day 1: Rome\nDay 2: Pisa', new: '' }, 'Nothing would be left'],
  ])('do not change a passage that %s', async (_, passage, problem) => {
    const { call, get, created } = await begin();
    const id = await created('Trip', 'Day 1: Rome\nDay 2: Pisa');
    const { failed, text } = await call('edit_artifact', { artifact_id: id, ...passage });
    expect({ failed, text }).toEqual({ failed: true, text: expect.stringContaining(problem) });
    expect(await get(id)).toMatchObject({ version: 1 });
  });

  it('change a passage of the newest version, or nothing, if several agents edit it concurrently', async () => {
    const { call, get, created } = await begin();
    const id = await created('List', 'a b c d');
    const edits = ['a', 'b', 'c', 'd'].map((old) => call('edit_artifact', { artifact_id: id, old, new: `${old}!` }));
    const done = (await Promise.all(edits)).filter(({ failed }) => !failed).length;
    const { version, content } = (await get(id)) as { version: number; content: string };
    expect({ version, changes: content.split('!').length - 1 }).toEqual({ version: 1 + done, changes: done });
    expect(done).toBeGreaterThanOrEqual(1);
  });

  it('execute a call once', async () => {
    const { call, list } = await begin();
    const first = await call('create_artifact', { title: 'A', content: 'a' }, { id: 'one' });
    expect(await call('create_artifact', { title: 'A', content: 'a' }, { id: 'one' })).toEqual(first);
    expect(await list()).toHaveLength(1);
  });

  it('keep the content if a runtime repeats the call with other content', async () => {
    const { call, get } = await begin();
    const { text } = await call('create_artifact', { title: 'A', content: 'first' }, { id: 'one' });
    await call('create_artifact', { title: 'A', content: 'forged' }, { id: 'one' });
    expect(await get(idIn(text))).toMatchObject({ content: 'first' });
  });

  it('read long artifacts in parts', async () => {
    const { call, created } = await begin();
    const content = `${'x'.repeat(16_000)}the rest`;
    const id = await created('Long', content);
    const { text } = await call('read_artifact', { artifact_id: id });
    expect(text).toMatch(/^“Long”, version 1 of 1, draft, by manager\.\nCharacters 0 to 16000 of 16008:\nx+$/);
    expect((await call('read_artifact', { artifact_id: id, offset: 16_000 })).text).toMatch(
      /Characters 16000 to 16008 of 16008:\nthe rest$/,
    );
  });

  it('list the artifacts of the workspace, last changed first', async () => {
    const { call, created } = await begin();
    expect(await call('list_artifacts', {})).toMatchObject({ text: 'There are no artifacts.' });
    const [a, b] = [await created('A'), await created('B')];
    await call('finish_artifact', { artifact_id: a });
    const lines = (await call('list_artifacts', {})).text.split('\n').map((line) => JSON.parse(line) as object);
    expect(lines).toMatchObject([
      { artifact_id: a, title: 'A', version: 1, status: 'final', agent: 'manager' },
      { artifact_id: b, title: 'B', version: 1, status: 'draft' },
    ]);
  });

  it.each([
    ['revise_artifact', { artifact_id: UNKNOWN, expected_version: 1, content: 'x' }],
    ['edit_artifact', { artifact_id: UNKNOWN, old: 'x', new: 'y' }],
    ['finish_artifact', { artifact_id: UNKNOWN }],
    ['read_artifact', { artifact_id: UNKNOWN }],
  ])('fail for an artifact of another workspace: %s', async (tool, input) => {
    const foreign = await (await begin()).created();
    const user = await world.uswarm.user();
    const { call } = await begin({}, { ...world, user, home: await world.uswarm.home(user) });
    for (const artifact_id of [foreign, UNKNOWN]) {
      expect(await call(tool, { ...input, artifact_id })).toEqual({
        failed: true,
        text: `There is no artifact ${artifact_id}. Use list_artifacts to find its id.`,
        showsMessage: false,
      });
    }
  });

  it('respect the limits of artifacts', async () => {
    const { call, list, created } = await begin({ perWorkspace: 1, versions: 1, bytes: 5 });
    expect(await call('create_artifact', { title: 'A', content: 'äöü' })).toMatchObject({
      failed: true,
      text: 'An artifact has at most 5 bytes. Write a shorter one, or several.',
    });
    const id = await created();
    expect(await call('create_artifact', { title: 'B', content: 'b' })).toMatchObject({ failed: true });
    expect(await call('revise_artifact', { artifact_id: id, expected_version: 1, content: 'b' })).toMatchObject({
      failed: true,
      text: 'The artifact has 1 versions already. Create a new artifact.',
    });
    expect(await list()).toMatchObject([{ id, version: 1 }]);
  });

  it('show titles as one line without invisible characters', async () => {
    const { shown, created } = await begin();
    await created(' A\n\u202Elist\u200B ', 'x');
    expect(await shown()).toMatchObject([{ title: 'A list' }]);
  });

  it('show an artifact that a later turn revises in a new message', async () => {
    const first = await begin();
    const id = await first.created();
    await first.writer.finish({ turnStatus: 'done', messageStatus: 'delivered', text: 'Done.', errorCode: null });
    const second = await begin();
    await second.call('revise_artifact', { artifact_id: id, expected_version: 1, title: 'New', content: 'b' });
    expect(await first.shown()).toMatchObject([{ artifact_id: id, version: 1, title: 'List' }]);
    expect(await second.shown()).toMatchObject([{ artifact_id: id, version: 2, title: 'New' }]);
    const history = await loadHistory(world.turnWorker.stores.database, second.turn, 10, 0);
    expect(history.map(({ text }) => text)).toContain(`[artifact ${id}: List, version 1, draft]`);
  });

  it('write artifacts that the user can delete', async () => {
    const { path, list, created } = await begin();
    const id = await created();
    await world.user.delete(`${path}/${id}`, undefined, 204);
    expect(await list()).toEqual([]);
    expect((await world.user.get<ErrorBody>(`${path}/${id}`, 404)).body.code).toBe('artifact_not_found');
    expect(await world.user.refusal('DELETE', `${path}/${id}`)).toBe('artifact_not_found');
  });
});
