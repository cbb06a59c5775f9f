import type { IncomingMessage } from 'node:http';
import { EventEmitter } from 'node:events';
import { expect, it } from '@jest/globals';
import { createManualTimers } from '../../../test/manual-timers.js';
import { createPendingConnections } from './pending-connections.js';
import { createUserSockets } from './user-sockets.js';

it('a limit of 0 closes no socket of a user', async () => {
  const ended: string[] = [];
  const sockets = ['a', 'b', 'c'].map((id) => ({ id, data: {}, handshake: { issued: 0 } }));
  const room = { fetchSockets: async () => sockets };
  const namespace = { in: () => ({ timeout: () => room }), local: { in: () => room }, serverSideEmit: () => {} };
  const { added } = createUserSockets({
    namespace: namespace as unknown as Parameters<typeof createUserSockets>[0]['namespace'],
    limit: 0,
    end: (id) => ended.push(id) > 0,
    logger: { warn: () => {} },
  });
  await added('user-1');
  expect(ended).toEqual([]);
});

it('a limit of 0 refuses no address', () => {
  const pending = createPendingConnections({
    clientAddress: () => '192.0.2.1',
    perAddress: 0,
    packetBytes: { bytes: 10, usual: 20 },
    timeoutMs: 5_000,
    timers: createManualTimers(),
  });
  const request = {} as IncomingMessage;
  for (let count = 0; count < 50; count += 1) {
    const conn = Object.assign(new EventEmitter(), { request, transport: { maxHttpBufferSize: 20 }, close: () => {} });
    pending.add(conn);
  }
  expect(pending.full(request)).toBe(false);
});
