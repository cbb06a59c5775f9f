import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from '@jest/globals';
import { createClient } from '@redis/client';
import { describeWithPart } from '../describe-with-part.js';
import { type RunningValkey, startValkey } from './valkey.js';
import { missingValkey } from './valkey-binary.js';

const closers: (() => Promise<void> | void)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).toReversed()) await close();
});

async function started(): Promise<RunningValkey> {
  const directory = mkdtempSync(join(tmpdir(), 'valkey-test-'));
  closers.push(() => rmSync(directory, { recursive: true }));
  const server = await startValkey({ directory });
  closers.push(() => server.close());
  return server;
}

async function command(url: string, ...words: string[]): Promise<unknown> {
  const client = createClient({ url, socket: { reconnectStrategy: false } });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return await client.sendCommand(words);
  } finally {
    client.destroy();
  }
}

describeWithPart({ name: 'valkey', missing: missingValkey }, 'startValkey', () => {
  it('keeps its writes over a kill and a restart on the same port', async () => {
    const server = await started();
    expect(await command(server.url, 'SET', 'key', 'kept')).toBe('OK');
    const { pid } = server;
    await server.kill();
    await expect(command(server.url, 'GET', 'key')).rejects.toThrow(/ECONNREFUSED|closed/);
    await server.restart();
    expect(await command(server.url, 'GET', 'key')).toBe('kept');
    expect(server.pid).not.toBe(pid);
  });

  it('supports sharded channels, which the gateways use', async () => {
    const server = await started();
    expect(await command(server.url, 'SPUBLISH', 'ws:none', 'x')).toBe(0);
  });

  it('listens on loopback only', async () => {
    const server = await started();
    expect(await command(server.url, 'CONFIG', 'GET', 'bind')).toEqual({ bind: '127.0.0.1' });
  });
});
