import { generateKeyPairSync } from 'node:crypto';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { spawn } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { create } from '@bufbuild/protobuf';
import { expect, it } from '@jest/globals';
import { RunTurnRequestSchema } from '@uswarm/runtime-proto';
import { createRuntimeClient } from './runtime-client.js';

const { privateKey } = generateKeyPairSync('ed25519');
const KEY = String(privateKey.export({ type: 'pkcs8', format: 'pem' }));

/** Accepts two connections, and is then stopped: the system drops packets for further ones, as for a pod that has gone. */
const LISTENER = `
const server = require('node:net').createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 }, () => {
  console.log(server.address().port);
});`;

it('gives a connection up whose packets are dropped, in seconds', async () => {
  const listener = spawn(process.execPath, ['--eval', LISTENER], { stdio: ['ignore', 'pipe', 'inherit'] });
  const waiting: Socket[] = [];
  try {
    const [line] = (await once(listener.stdout, 'data')) as [Buffer];
    const port = Number(String(line));
    listener.kill('SIGSTOP');
    // Fills the listener's queue.
    for (let isFull = false; !isFull;) {
      const socket = connect({ port, host: '127.0.0.1' }).on('error', () => undefined);
      waiting.push(socket);
      isFull = (await Promise.race([once(socket, 'connect'), sleep(500)])) === undefined;
    }
    const started = performance.now();
    const target = { workspaceId: crypto.randomUUID(), address: `http://127.0.0.1:${port}` };
    const client = createRuntimeClient([KEY]);
    const request = create(RunTurnRequestSchema, { turnId: crypto.randomUUID() });
    const read = async (): Promise<void> => {
      for await (const event of client.runTurn(target, request, AbortSignal.timeout(60_000)))
        throw new Error(event.$typeName);
    };
    await expect(read()).rejects.toThrow();
    expect(performance.now() - started).toBeLessThan(20_000);
    client.close();
  } finally {
    for (const socket of waiting) socket.destroy();
    listener.kill('SIGKILL');
  }
});
