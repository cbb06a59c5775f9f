import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { describeWithPart } from '@uswarm/dev-servers';
import { developmentToken, type TestClient, startTestClient } from '@uswarm/testkit/test-client';
import { type RunningProgram, runLocalMode, startLocalMode } from '../test/local.js';
import { mountSmallDisk, type SmallDisk, smallDisks } from '../test/small-disk.js';

const MEGABYTE = 1024 ** 2;

describeWithPart(smallDisks, 'local mode with a full data folder', () => {
  let disk: SmallDisk;
  let local: RunningProgram;
  let ada: TestClient;
  const signUp = async (name: string): Promise<TestClient> => {
    const token = await developmentToken(local.issuer, `${name}@example.com`);
    return startTestClient({ restUrl: local.url, socketUrl: local.url, token });
  };
  const upload = async (): Promise<Response> => {
    const form = new FormData();
    form.append('file', new Blob([new Uint8Array(5 * MEGABYTE)]), 'large.bin');
    const headers = { 'x-token': await developmentToken(local.issuer, 'ada@example.com') };
    return fetch(`${local.url}/v1/uploads`, { method: 'POST', headers, body: form });
  };
  const uploadedFiles = (): string[] =>
    readdirSync(path.join(local.directory, 'uploads'), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ name }) => name);
  const linesAbout = (text: string): string[] =>
    local.program
      .output()
      .split('\n')
      .filter((line) => line.includes(text));

  beforeAll(async () => {
    disk = mountSmallDisk('25m');
    local = await runLocalMode({ USWARM_DATA_DIR: path.join(disk.folder, 'data') });
    ada = await signUp('ada');
    await ada.ask('Hello');
    await upload();
    disk.fill();
  });
  afterAll(async () => {
    ada?.close();
    await local?.program.stop('SIGKILL');
    disk?.remove();
  });

  it('answers health checks', async () => {
    const statuses = new Set<number>();
    for (let time = 0; time < 100; time += 1) statuses.add((await fetch(`${local.url}/v1/health`)).status);
    expect([...statuses]).toEqual([200]);
  });

  it('answers messages of users, also of a new one whose runtime has to start', async () => {
    const ben = await signUp('ben');
    for (const client of [ada, ben]) {
      const { done } = await client.ask('Are you there?');
      expect(done.payload['status']).toBe('delivered');
    }
    ben.close();
  });

  it('refuses an upload with a server error, and leaves nothing of it', async () => {
    const before = uploadedFiles();
    const answer = await upload();
    expect({ status: answer.status, code: ((await answer.json()) as { code: string }).code }).toEqual({
      status: 503,
      code: 'service_unavailable',
    });
    expect(uploadedFiles()).toEqual(before);
  });

  it('reports once that the log cannot be written', () => {
    expect(linesAbout('cannot be written')).toEqual([
      `The log ${path.join(local.directory, 'uswarm.log')} cannot be written: the disk is full (ENOSPC). The services go on without it.`,
    ]);
  });

  describe('after room was made', () => {
    beforeAll(() => disk.clear());

    it('reports that the log can be written again, and writes it', async () => {
      await fetch(`${local.url}/v1/workspaces`, { headers: { 'x-request-id': 'after-room-was-made' } });
      const [line] = await local.program.printed(/The log \S+ can be written again; \d+ entr\w+ \w+ missing\./);
      expect(linesAbout('can be written again')).toEqual([line]);
      expect(readFileSync(path.join(local.directory, 'uswarm.log'), 'utf8')).toContain('after-room-was-made');
    });

    it('accepts uploads again', async () => {
      expect((await upload()).status).toBe(201);
    });

    it('stops as usual', async () => {
      expect(await local.program.stop('SIGINT')).toBe(0);
    });

    it('does not start on a full disk, and reports why in one line', async () => {
      disk.fill();
      const env = { USWARM_DATA_DIR: local.directory, USWARM_PORT: new URL(local.url).port };
      const program = startLocalMode(env);
      expect(await program.ended).toBe(1);
      expect(program.stderr()).toMatch(/^[^\n]* cannot be written: the disk is full \(ENOSPC\)\. [^\n]*\n$/);
      expect(readdirSync(local.directory).filter((name) => /^(lock|format)/.test(name))).toEqual(['format.json']);
    });
  });
});
