import { randomBytes } from 'node:crypto';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type ErrorBody, LIMITS } from '@uswarm/contract';
import { eventually } from '@uswarm/testkit/eventually';
import { startTestOrchestrator, type TestOrchestrator, type TestUser } from '../../../test/test-orchestrator.js';
import { RATE_WINDOW_MS } from '../../platform/http/form.js';
import { beginUpload, type BegunUpload, formOf, upload, uploadRefusal, UPLOADS } from '../../../test/uploads.js';

const KIB = 1024;

describe('upload limits', () => {
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

  it('a file with one more byte is rejected with upload_too_large, and nothing is stored', async () => {
    const user = await uswarm.user();
    const before = await traces();
    const form = await formOf({ content: Buffer.alloc(256 * KIB + 1) });
    expect(await uploadRefusal(user, form)).toBe('upload_too_large');
    expect(await traces()).toEqual(before);
  });

  it('a body with a Content-Length above the limit is rejected before it is sent', async () => {
    const user = await uswarm.user();
    const form = await formOf({ content: Buffer.alloc(400 * KIB) });
    expect(await uploadRefusal(user, form)).toBe('upload_too_large');
  });

  it('an endless file of unknown length is rejected while it is received', async () => {
    const user = await uswarm.user();
    const before = await traces();
    const begun = await beginUpload(uswarm.url, user);
    const chunk = Buffer.alloc(16 * KIB);
    while (begun.answered() === undefined) await begun.send(chunk);
    expect(begun.answered()).toMatch(/^HTTP\/1\.1 413 /);
    expect(await traces()).toEqual(before);
  });

  it('an endless form with other parts is rejected while it is received', async () => {
    const user = await uswarm.user();
    const form = await formOf({ content: Buffer.alloc(400 * KIB), part: 'other' }, { content: 'x' });
    expect(await uploadRefusal(user, form)).toBe('upload_too_large');
  });

  it('an aborted upload leaves neither a row nor a file', async () => {
    const user = await uswarm.user();
    const before = await traces();
    const begun = await beginUpload(uswarm.url, user);
    await begun.send(randomBytes(64 * KIB));
    await eventually(files, { until: (names) => names.length > before.files.length });
    expect((await traces()).rows).toHaveLength(before.rows.length + 1);
    begun.breakOff();
    const after = await eventually(traces, {
      until: ({ rows, files: names }) => rows.length + names.length === before.rows.length + before.files.length,
    });
    expect(after).toEqual(before);
  });

  it('an upload that is aborted after the file but before the end of the form leaves nothing', async () => {
    const user = await uswarm.user();
    const before = await traces();
    const begun = await beginUpload(uswarm.url, user);
    await begun.send(Buffer.from('hello\r\n--x\r\ncontent-disposition: form-data; name="more"\r\n\r\n'));
    await eventually(files, { until: (names) => names.length > before.files.length });
    begun.breakOff();
    const after = await eventually(traces, { until: ({ rows }) => rows.length === before.rows.length });
    expect(after).toEqual(before);
  });

  it('a user can store files up to the quota, also concurrently', async () => {
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

  it('the quota of one user does not affect another user', async () => {
    const [full, empty] = [await uswarm.user(), await uswarm.user()];
    for (let n = 0; n < 4; n += 1) await upload(full, { content: Buffer.alloc(256 * KIB) });
    expect(await uploadRefusal(full, await formOf({ content: 'x' }))).toBe('upload_quota_exceeded');
    expect((await upload(empty, { content: 'x' })).size).toBe(1);
  });

  it('a user can store up to the maximum number of files, regardless of their size', async () => {
    const user = await uswarm.user();
    const empty = await formOf({ content: '' });
    const answers = [];
    for (let n = 0; n < 21; n += 1)
      answers.push(await user.raw<ErrorBody>({ method: 'POST', path: UPLOADS, ...empty }));
    expect(answers.map(({ status }) => status)).toEqual([...Array.from({ length: 20 }, () => 201), 409]);
    expect(answers.at(-1)?.body.code).toBe('upload_limit_reached');
    expect((await upload(await uswarm.user(), { content: '' })).size).toBe(0);
  });

  it('uploads above the concurrency limit of the process are rejected as retryable', async () => {
    const user = await uswarm.user();
    const begun = await Promise.all(Array.from({ length: 12 }, () => beginUpload(uswarm.url, user)));
    await eventually(
      () => uswarm.database.selectFrom('uploads').select('id').where('state', '=', 'receiving').execute(),
      { until: (rows) => rows.length === 12 },
    );
    const form = await formOf({ content: 'x' });
    const send = () => user.raw<ErrorBody>({ method: 'POST', path: UPLOADS, ...form });
    const { status, headers, body } = await send();
    expect({ status, code: body.code, retryAfter: headers['retry-after'] }).toEqual({
      status: 429,
      code: 'rate_limited',
      retryAfter: '2',
    });
    for (const one of begun) one.breakOff();
    expect((await eventually(send, { until: (answer) => answer.status === 201 })).status).toBe(201);
  });
});

describe('stalled uploads', () => {
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

  it('occupy two slots per user, and other users can upload', async () => {
    await start({ UPLOAD_STALL_MS: '600000' });
    const [one, other] = [await uswarm.user(), await uswarm.user()];
    await begin(one, 16);
    expect(await eventually(receiving, { until: (count) => count === 2 })).toBe(2);
    const refused = await eventually(
      () => begun.filter((stalled) => stalled.answered()?.startsWith('HTTP/1.1 429 ') === true).length,
      { until: (count) => count === 14 },
    );
    expect(refused).toBe(14);
    const { status, headers, body } = await send(one);
    expect({ status, code: body.code, retryAfter: headers['retry-after'] }).toEqual({
      status: 429,
      code: 'rate_limited',
      retryAfter: '2',
    });
    expect((await send(other)).status).toBe(201);
  });

  it('end with upload_stalled, store nothing and release their slots', async () => {
    await start({ UPLOAD_STALL_MS: '300' });
    const user = await uswarm.user();
    await begin(user, 2);
    const answers = await eventually(() => begun.map((one) => one.answered()), {
      until: (all) => all.every((answer) => answer?.includes('upload_stalled')),
    });
    for (const answer of answers) expect(answer).toMatch(/^HTTP\/1\.1 408 [\s\S]*"code":"upload_stalled"/);
    expect(await eventually(receiving, { until: (count) => count === 0 })).toBe(0);
    expect((await send(user)).status).toBe(201);
  });
});

describe('uploads that drip', () => {
  it('cannot keep the uploads of others refused, and end with upload_stalled', async () => {
    const uswarm = await startTestOrchestrator();
    const [other, ...accounts] = await Promise.all(Array.from({ length: 9 }, () => uswarm.user()));
    const begun = await Promise.all(
      accounts.flatMap((user) => [beginUpload(uswarm.url, user), beginUpload(uswarm.url, user)]),
    );
    const drip = setInterval(() => {
      for (const one of begun) if (one.answered() === undefined) void one.send(Buffer.from('z'));
    }, 2_000);
    try {
      await eventually(
        () => uswarm.database.selectFrom('uploads').select('id').where('state', '=', 'receiving').execute(),
        { until: (rows) => rows.length === 16 },
      );
      const form = await formOf({ content: Buffer.alloc(KIB) });
      const send = () => other!.raw<ErrorBody>({ method: 'POST', path: UPLOADS, ...form });
      expect((await send()).status).toBe(429);
      const started = performance.now();
      expect((await eventually(send, { until: ({ status }) => status === 201, timeoutMs: 20_000 })).status).toBe(201);
      // Earlier than the other requests would end by themselves.
      expect(performance.now() - started).toBeLessThan(RATE_WINDOW_MS);
      const answers = await eventually(() => begun.map((one) => one.answered()), {
        until: (all) => all.every((answer) => answer !== undefined),
        timeoutMs: 30_000,
      });
      for (const answer of answers) expect(answer).toMatch(/^HTTP\/1\.1 408 [\s\S]*"code":"upload_stalled"/);
    } finally {
      clearInterval(drip);
      for (const one of begun) one.breakOff();
      await uswarm.close();
    }
  }, 60_000);
});

describe('the default upload limits', () => {
  it('are 25 MiB per file and 5 GiB per user', async () => {
    expect({ uploadBytes: LIMITS.uploadBytes, uploadBytesPerUser: LIMITS.uploadBytesPerUser }).toEqual({
      uploadBytes: 26_214_400,
      uploadBytesPerUser: 5_368_709_120,
    });
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
