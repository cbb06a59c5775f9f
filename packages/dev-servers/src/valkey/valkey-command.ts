import { setTimeout as sleep } from 'node:timers/promises';
import { createClient } from '@redis/client';
import { LocalError } from '../local-error.js';

const DEADLINE_MS = 30_000;

/** Sends one command to a server on loopback, over a separate connection. @throws if it is refused or the server is down */
export async function valkeyCommand<Reply = unknown>(port: number, ...words: string[]): Promise<Reply> {
  const client = createClient({ socket: { host: '127.0.0.1', port, reconnectStrategy: false, connectTimeout: 1_000 } });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return (await client.sendCommand(words)) as Reply;
  } finally {
    if (client.isOpen) client.destroy();
  }
}

/** @throws LocalError if `done` is not true within 30 s; errors count as false */
export async function untilValkey(what: string, done: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + DEADLINE_MS;
  while (!(await done().catch(() => false))) {
    if (performance.now() > deadline) throw new LocalError(`Valkey: ${what} took longer than ${DEADLINE_MS / 1_000} s`);
    await sleep(20);
  }
}
