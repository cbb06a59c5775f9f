import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type ErrorBody, LIMITS } from '@uswarm/contract';
import { eventually } from '../../../test/eventually.js';
import { startTestOrchestrator, type TestOrchestrator, type TestUser } from '../../../test/test-orchestrator.js';
import { beginUpload, type BegunUpload, formOf, upload, uploadRefusal, UPLOADS } from '../../../test/uploads.js';

const KIB = 1024;

describe('limits of uploads', () => {
  let uswarm: TestOrchestrator;
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'uswarm-limits-'));
    uswarm = await startTestOrchestrator({
      environment: {
        OBJECT_DIRECTORY: folder,
        UPLOAD_BYTES: String(256 * KIB),
        UPLOAD_BYTES_PER_USER: String(1024 * KIB),
        UPLOADS_AT_ONCE: '12',
        UPLOADS_AT_ONCE_PER_USER: '12',
        UPLOADS_PER_USER: '20',
      },
    });
  });
  afterAll(async () => {
    await uswarm.close();
    await rm(folder, { recursive: true });
  });

  const files = async (): Promise<string[]> => {
    const entries = await readdir(folder, { recursive: true, withFileTypes: true });
    return entries.filter((entry) => entry.isFile()).map(({ name }) => name);
  };
  /** Everything that there is of uploads: rows, their work, files. */
  const traces = async () => ({
    rows: (await uswarm.database.selectFrom('uploads').select('id').orderBy('id').execute()).map(({ id }) => id),
    work: (
      await uswarm.database
        .selectFrom('work')
        .select('subject_id')
        .where('kind', '=', 'upload')
        .orderBy('subject_id')
        .execute()
    ).length,
    files: (await files()).toSorted(),
  });

  it('a file may have exactly the maximum size', async () => {
    const user = await uswarm.user();
    expect((await upload(user, { content: Buffer.alloc(256 * KIB) })).size).toBe(256 * KIB);
  });

  it('a file with one more is upload_too_large, and nothing of it stays', async () => {
    const user = await uswarm.user();
    const before = await traces();
    const form = await formOf({ content: Buffer.alloc(256 * KIB + 1) });
    expect(await uploadRefusal(user, form)).toBe('upload_too_large');
    expect(await traces()).toEqual(before);
  });

  it('a body with a Content-Length above the limit is refused before it is sent', async () => {
    const user = await uswarm.user();
    const form = await formOf({ content: Buffer.alloc(400 * KIB) });
    expect(await uploadRefusal(user, form)).toBe('upload_too_large');
  });

  it('a file of unknown length is refused while it comes in, though it has no end', async () => {
    const user = await uswarm.user();
    const before = await traces();
    const begun = await beginUpload(uswarm.url, user);
    const chunk = Buffer.alloc(16 * KIB);
    while (begun.answered() === undefined) await begun.send(chunk);
    expect(begun.answered()).toMatch(/^HTTP\/1\.1 413 /);
    expect(await traces()).toEqual(before);
  });

  it('so is a form that hides its size in other parts', async () => {
    const user = await uswarm.user();
    const form = await formOf({ content: Buffer.alloc(400 * KIB), part: 'other' }, { content: 'x' });
    expect(await uploadRefusal(user, form)).toBe('upload_too_large');
  });

  it('an upload that breaks off leaves neither row nor file', async () => {
    const user = await uswarm.user();
    const before = await traces();
    const begun = await beginUpload(uswarm.url, user);
    await begun.send(randomBytes(64 * KIB));
    await eventually(files, (names) => names.length > before.files.length);
    expect((await traces()).rows).toHaveLength(before.rows.length + 1);
    begun.breakOff();
    const after = await eventually(
      traces,
      ({ rows, files: names }) => rows.length + names.length === before.rows.length + before.files.length,
    );
    expect(after).toEqual(before);
  });

  it('an upload that breaks off behind the file, before the end of the form, leaves nothing either', async () => {
    const user = await uswarm.user();
    const before = await traces();
    const begun = await beginUpload(uswarm.url, user);
    await begun.send(Buffer.from('hello\r\n--x\r\ncontent-disposition: form-data; name="more"\r\n\r\n'));
    await eventually(files, (names) => names.length > before.files.length);
    begun.breakOff();
    const after = await eventually(traces, ({ rows }) => rows.length === before.rows.length);
    expect(after).toEqual(before);
  });

  it('a user may store up to the quota, however many files arrive concurrently', async () => {
    const user = await uswarm.user();
    const before = await traces();
    const form = await formOf({ content: Buffer.alloc(200 * KIB) });
    const sent = Array.from({ length: 10 }, () => user.raw<ErrorBody>({ method: 'POST', path: UPLOADS, ...form }));
    const answers = await Promise.all(sent);
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(5);
    const refused = answers.filter(({ status }) => status !== 201);
    expect(new Set(refused.map(({ body }) => body.code))).toEqual(new Set(['upload_quota_exceeded']));
    expect((await files()).length).toBe(before.files.length + 5);
  });

  it('what one user stores is not taken from another', async () => {
    const [full, empty] = [await uswarm.user(), await uswarm.user()];
    for (let n = 0; n < 4; n += 1) await upload(full, { content: Buffer.alloc(256 * KIB) });
    expect(await uploadRefusal(full, await formOf({ content: 'x' }))).toBe('upload_quota_exceeded');
    expect((await upload(empty, { content: 'x' })).size).toBe(1);
  });

  it('a user may have up to the maximum number of files, however small', async () => {
    const user = await uswarm.user();
    const empty = await formOf({ content: '' });
    const answers = [];
    for (let n = 0; n < 21; n += 1)
      answers.push(await user.raw<ErrorBody>({ method: 'POST', path: UPLOADS, ...empty }));
    expect(answers.map(({ status }) => status)).toEqual([...Array.from({ length: 20 }, () => 201), 409]);
    expect(answers.at(-1)?.body.code).toBe('upload_limit_reached');
    expect((await upload(await uswarm.user(), { content: '' })).size).toBe(0);
  });

  it('uploads above the concurrency of the process are to be retried', async () => {
    const user = await uswarm.user();
    const begun = await Promise.all(Array.from({ length: 12 }, () => beginUpload(uswarm.url, user)));
    await eventually(
      () => uswarm.database.selectFrom('uploads').select('id').where('state', '=', 'receiving').execute(),
      (rows) => rows.length === 12,
    );
    const form = await formOf({ content: 'x' });
    const send = () => user.raw<ErrorBody>({ method: 'POST', path: UPLOADS, ...form });
    const { status, headers, body } = await send();
    expect([status, body.code, headers['retry-after']]).toEqual([429, 'rate_limited', '2']);
    for (const one of begun) one.breakOff();
    expect((await eventually(send, (answer) => answer.status === 201)).status).toBe(201);
  });
});

describe('uploads that stand still', () => {
  let uswarm: TestOrchestrator;
  let begun: BegunUpload[];
  const start = async (environment: Record<string, string> = {}): Promise<void> => {
    uswarm = await startTestOrchestrator({ environment });
  };
  beforeEach(() => {
    begun = [];
  });
  afterEach(async () => {
    for (const one of begun) one.breakOff();
    await uswarm.close();
  });
  const begin = async (user: TestUser, count: number): Promise<void> => {
    begun.push(...(await Promise.all(Array.from({ length: count }, () => beginUpload(uswarm.url, user)))));
  };
  const receiving = async (): Promise<number> =>
    (await uswarm.database.selectFrom('uploads').select('id').where('state', '=', 'receiving').execute()).length;
  const send = async (user: TestUser) =>
    user.raw<ErrorBody>({ method: 'POST', path: UPLOADS, ...(await formOf({ content: 'x' })) });

  it('of one user take two places and refuse no other user', async () => {
    await start({ UPLOAD_STALL_MS: '600000' });
    const [one, other] = [await uswarm.user(), await uswarm.user()];
    await begin(one, 16);
    expect(await eventually(receiving, (count) => count === 2)).toBe(2);
    const refused = await eventually(
      () => begun.filter((stalled) => stalled.answered()?.startsWith('HTTP/1.1 429 ') === true).length,
      (count) => count === 14,
    );
    expect(refused).toBe(14);
    const { status, headers, body } = await send(one);
    expect([status, body.code, headers['retry-after']]).toEqual([429, 'rate_limited', '2']);
    expect((await send(other)).status).toBe(201);
  });

  it('end with upload_stalled, leave nothing, and free their places', async () => {
    await start({ UPLOAD_STALL_MS: '300' });
    const user = await uswarm.user();
    await begin(user, 2);
    const answers = await eventually(
      () => begun.map((one) => one.answered()),
      (all) => all.every((answer) => answer?.includes('upload_stalled')),
    );
    for (const answer of answers) expect(answer).toMatch(/^HTTP\/1\.1 408 [\s\S]*"code":"upload_stalled"/);
    expect(await eventually(receiving, (count) => count === 0)).toBe(0);
    expect((await send(user)).status).toBe(201);
  });
});

describe('default limits of uploads', () => {
  it('are 25 MiB per file and 5 GiB per user', async () => {
    expect([LIMITS.uploadBytes, LIMITS.uploadBytesPerUser]).toEqual([26_214_400, 5_368_709_120]);
    const uswarm = await startTestOrchestrator();
    try {
      const user = await uswarm.user();
      expect((await upload(user, { content: Buffer.alloc(26_214_400, 'a') })).size).toBe(26_214_400);
      const larger = await formOf({ content: Buffer.alloc(26_214_401) });
      expect(await uploadRefusal(user, larger)).toBe('upload_too_large');
    } finally {
      await uswarm.close();
    }
  });
});
