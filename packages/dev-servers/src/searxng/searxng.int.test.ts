import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { cacheFolder } from '../cache-folder.js';
import { describeWithPart } from '../describe-with-part.js';
import { missingPython } from '../python/python.js';
import { startSearxng } from './searxng.js';

const directory = join(cacheFolder(), 'searxng');

describeWithPart({ name: 'searxng', missing: () => missingPython([3, 11]) }, 'startSearxng', () => {
  let logs: string;
  beforeAll(async () => {
    logs = await mkdtemp(join(tmpdir(), 'searxng-logs-'));
  });
  afterAll(() => rm(logs, { recursive: true, force: true }));

  it('TOOL-050: loads five general engines, an encyclopedia and a knowledge base', async () => {
    const logFile = join(logs, 'general.log');
    const searxng = await startSearxng({ directory, logFile });
    await searxng.close();
    const log = await readFile(logFile, 'utf8');
    expect(log).not.toMatch(/Skip engine|Cannot load engine|loading engine failed|Error on setting/);
  });

  it('stops on close', async () => {
    const searxng = await startSearxng({ directory, engines: [], logFile: join(logs, 'close.log') });
    expect((await fetch(`${searxng.endpoint}/healthz`)).status).toBe(200);
    await searxng.close();
    await expect(fetch(`${searxng.endpoint}/healthz`)).rejects.toThrow('fetch failed');
  });

  it('rejects a port on which another server listens', async () => {
    const other = createServer((_, response) => void response.end('OK')).listen(0, '127.0.0.1');
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    await expect(startSearxng({ directory, port, engines: [], logFile: join(logs, 'port.log') })).rejects.toThrow(
      `Port ${port} is in use`,
    );
    other.close();
    await once(other, 'close');
  });
});
