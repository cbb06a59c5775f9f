import { readdir } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ArtifactPage, ErrorBody } from '@uswarm/contract';
import { eventually } from '@uswarm/testkit/eventually';
import { request } from 'undici';
import { storeArtifact } from '../../../test/artifacts.js';
import { startTestOrchestrator, type TestOrchestrator, type TestUser } from '../../../test/test-orchestrator.js';
import { createWithTransaction } from '../../platform/database/transaction.js';
import { createStores } from '../../../test/stores.js';
import { createFileObjects } from '../uploads/file-objects.js';
import { createArtifactContents } from './artifact-contents.js';
import { insertArtifact } from './artifacts.store.js';

describe('the routes of artifacts', () => {
  let uswarm: TestOrchestrator;
  beforeAll(async () => {
    uswarm = await startTestOrchestrator();
  });
  afterAll(() => uswarm.close());

  const withArtifacts = async (titles: readonly string[]) => {
    const user = await uswarm.user();
    const home = await uswarm.home(user);
    const ids: string[] = [];
    for (const title of titles) ids.push(await storeArtifact(uswarm, home, title, [title]));
    return { user, home, ids, path: `${home.workspace}/artifacts` };
  };
  const read = async (user: TestUser, path: string) => (await user.get<ArtifactPage>(path)).body;

  it('list artifacts in pages, last changed first', async () => {
    const { user, path, ids } = await withArtifacts(['a', 'b', 'c']);
    const first = await read(user, `${path}?limit=2`);
    expect(first.data.map(({ id }) => id)).toEqual([ids[2], ids[1]]);
    const second = await read(user, `${path}?limit=2&scrollId=${first.pagination.next_scroll_id}`);
    expect(second).toMatchObject({ data: [{ id: ids[0] }], pagination: { next_scroll_id: null, has_next: false } });
    expect((await read(user, path)).data).toHaveLength(3);
  });

  it('reject a cursor of another workspace', async () => {
    const [one, other] = [await withArtifacts(['a', 'b']), await withArtifacts(['c'])];
    const { pagination } = await read(one.user, `${one.path}?limit=1`);
    expect(await other.user.refusal('GET', `${other.path}?scrollId=${pagination.next_scroll_id}`)).toBe(
      'cursor_invalid',
    );
  });

  it('end a page early that does not fit into one response', async () => {
    const { user, path, home } = await withArtifacts([]);
    for (let n = 0; n < 6; n += 1) await storeArtifact(uswarm, home, '"'.repeat(90_000), ['x']);
    const { data, pagination } = await read(user, path);
    expect(data).toHaveLength(5);
    expect((await read(user, `${path}?scrollId=${pagination.next_scroll_id}`)).data).toHaveLength(1);
  });

  it.each(['0', '-1', '1.5', 'x', '9999999999'])('reject version=%s', async (version) => {
    const { user, path, ids } = await withArtifacts(['a']);
    expect(await user.refusal('GET', `${path}/${ids[0]}?version=${version}`)).toBe('validation_failed');
  });

  it('return artifact_not_found for an unknown version', async () => {
    const { user, path, ids } = await withArtifacts(['a']);
    expect(await user.refusal('GET', `${path}/${ids[0]}?version=2`)).toBe('artifact_not_found');
  });

  it('download an artifact as Word or PDF, once per version', async () => {
    const { user, home } = await withArtifacts([]);
    const id = await storeArtifact(uswarm, home, 'Tea: a/b', ['# Tea', '# Tea\n\nmore']);
    const path = `${home.workspace}/artifacts/${id}/file`;
    const get = (query: string, headers: Record<string, string> = {}) =>
      request(new URL(`${path}?${query}`, uswarm.url), { headers: { ...user.headers, ...headers } });
    for (const [format, type, start] of [
      ['docx', 'application/vnd.openxmlformats-officedocument.wordprocessingml.document', 'PK'],
      ['pdf', 'application/pdf', '%PDF-'],
    ] as const) {
      const answer = await get(`format=${format}`);
      const bytes = Buffer.from(await answer.body.arrayBuffer());
      expect(answer).toMatchObject({
        statusCode: 200,
        headers: {
          'content-type': type,
          'content-length': String(bytes.length),
          'content-disposition': `attachment; filename="Tea: a b.${format}"`,
          'cache-control': 'private, no-cache',
        },
      });
      expect(bytes.subarray(0, start.length).toString()).toBe(start);
      const again = await get(`format=${format}`, { 'if-none-match': String(answer.headers['etag']) });
      await again.body.dump();
      expect(again.statusCode).toBe(304);
      const older = await get(`format=${format}&version=1`);
      expect(Buffer.from(await older.body.arrayBuffer()).equals(bytes)).toBe(false);
    }
    expect(await user.refusal('GET', `${path}?format=exe`)).toBe('validation_failed');
    expect(await user.refusal('GET', `${path}?format=pdf&version=3`)).toBe('artifact_not_found');
  });

  it('tell why a document cannot have the content of an artifact', async () => {
    const { user, home } = await withArtifacts([]);
    const id = await storeArtifact(uswarm, home, 'Tea', ['日本語']);
    const { body } = await user.get<ErrorBody>(`${home.workspace}/artifacts/${id}/file?format=pdf`, 400);
    expect(body).toMatchObject({ code: 'validation_failed', extra: { fields: [{ path: 'format' }] } });
  });

  it('keep an artifact whose conversation is deleted', async () => {
    const { user, home, path } = await withArtifacts(['a']);
    await user.delete(`${home.workspace}/conversations/${home.conversationId}`, undefined, 204);
    expect((await read(user, path)).data).toMatchObject([{ title: 'a', conversation_id: null }]);
  });
});

describe('the contents of artifacts', () => {
  let uswarm: TestOrchestrator;
  beforeAll(async () => {
    uswarm = await startTestOrchestrator({ environment: { UPKEEP_WORKERS: '2' } });
  });
  afterAll(() => uswarm.close());

  const objectsOf = async () =>
    (await readdir(uswarm.objectDirectory, { recursive: true })).filter((name) => name.includes('/'));
  const contents = () =>
    createArtifactContents({
      withTransaction: createWithTransaction(uswarm.database),
      jobs: createStores(uswarm.database).jobs,
      objects: createFileObjects(uswarm.objectDirectory),
    });
  const CALL = { turnId: '00000000-0000-7000-8000-000000000001', id: 'call' };
  /** Runs content jobs that are due later. */
  const runJobs = () =>
    uswarm.database.updateTable('work').set({ run_at: new Date() }).where('kind', '=', 'artifact-object').execute();

  it.each(['artifact', 'workspace', 'account'] as const)('are deleted with their %s', async (what) => {
    const user = await uswarm.user();
    const home = await uswarm.home(user);
    const before = await objectsOf();
    const id = await storeArtifact(uswarm, home, 'a', ['one', 'two']);
    expect(await objectsOf()).toHaveLength(before.length + 2);
    if (what === 'artifact') await user.delete(`${home.workspace}/artifacts/${id}`, undefined, 204);
    if (what === 'workspace') await user.delete(home.workspace, undefined, 204);
    if (what === 'account') await user.delete('/v1/auth/delete', {}, 204);
    expect(await eventually(objectsOf, { until: (found) => found.length === before.length })).toEqual(before);
  });

  it('are stored once per call', async () => {
    const first = await contents().put(CALL, 'the text');
    expect(await contents().put(CALL, 'the text')).toBe(first);
    expect(await contents().put(CALL, 'another text')).not.toBe(first);
    expect(await contents().put({ ...CALL, id: 'other' }, 'the text')).not.toBe(first);
    expect(await contents().read(first)).toBe('the text');
  });

  it('are deleted if their call never commits', async () => {
    const before = await objectsOf();
    await contents().put({ ...CALL, id: 'abandoned' }, 'the text');
    expect(await objectsOf()).toHaveLength(before.length + 1);
    await runJobs();
    await eventually(objectsOf, { until: (found) => found.length < before.length + 1 });
  });

  it('are kept if their call commits', async () => {
    const home = await uswarm.home(await uswarm.user());
    const key = await contents().put({ ...CALL, id: 'committed' }, 'kept');
    const version = { title: 'a', agent_slug: 'writer', preview: '', size: 4, object_id: key };
    const artifact = { id: crypto.randomUUID(), ...home };
    await insertArtifact(uswarm.database, artifact, version, 10);
    await runJobs();
    const jobs = uswarm.database.selectFrom('work').select('subject_id').where('subject_id', '=', key);
    await eventually(() => jobs.execute(), { until: (rows) => rows.length === 0 });
    expect(await contents().read(key)).toBe('kept');
  });
});
