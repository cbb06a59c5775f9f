import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { readLocalFile } from './local-file.js';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'uswarm-cli-'));
});
afterEach(() => rm(folder, { recursive: true }));

const write = (text: string) => writeFile(join(folder, 'local.json'), text);
const local = { url: 'http://localhost:8080', issuer: 'http://localhost:8080/oidc', e2e_token: 'x', pid: process.pid };

describe('local.json', () => {
  it('says where a running uswarm is', async () => {
    await write(JSON.stringify(local));
    await expect(readLocalFile(folder)).resolves.toEqual({ url: local.url, issuer: local.issuer, pid: process.pid });
  });

  it.each([
    ['there is no such file', async () => {}],
    ['the process that wrote it is gone', () => write(JSON.stringify(local))],
  ])('says how to start uswarm when %s', async (_why, prepare) => {
    await prepare();
    await expect(readLocalFile(folder, () => false)).rejects.toThrow(
      'uswarm is not running here. Start it with: npm start',
    );
  });

  it.each(['{', '{"url": "http://localhost:8080"}'])('says that it is damaged: %s', async (text) => {
    await write(text);
    await expect(readLocalFile(folder)).rejects.toThrow(/local\.json is damaged/);
  });
});
