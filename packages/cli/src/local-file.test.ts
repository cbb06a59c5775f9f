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

describe('the file local.json', () => {
  it('contains the addresses of a running uswarm', async () => {
    await write(JSON.stringify(local));
    await expect(readLocalFile(folder)).resolves.toEqual({ url: local.url, issuer: local.issuer, pid: process.pid });
  });

  it.each([
    ['the file does not exist', async () => {}],
    ['its process has ended', () => write(JSON.stringify(local))],
  ])('causes an error that names npm start when %s', async (_why, prepare) => {
    await prepare();
    await expect(readLocalFile(folder, () => false)).rejects.toThrow(
      'uswarm is not running here. Start it with: npm start',
    );
  });

  it.each(['{', '{"url": "http://localhost:8080"}'])('is rejected as invalid: %s', async (text) => {
    await write(text);
    await expect(readLocalFile(folder)).rejects.toThrow(/local\.json is invalid/);
  });
});
