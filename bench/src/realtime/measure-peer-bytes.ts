import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { createClient } from '@redis/client';
import type { CloseStack } from '@uswarm/service-kit';
import { createSocketIoClient, createWsClient } from './clients/bare-clients.js';
import { type Peer, startPeer } from './peers.js';
import { redirect, startTapProxy } from './tap-proxy.js';

/** Bytes to Valkey and to the socket, per text byte, if each token is an event. */
export interface PeerBytes {
  server: Peer;
  bus: number;
  socket: number;
}

const TOKEN = ' word';
const SETTLE_MS = 300;

export async function measurePeerBytes(
  server: Peer,
  redisUrl: string,
  { tokens, paceMs }: { tokens: number; paceMs: number },
  stack: CloseStack,
): Promise<PeerBytes> {
  const bytes = { bus: 0, socket: 0 };
  const busHost = await startTapProxy(
    () => redisUrl,
    () => ({ there: (data) => void (bytes.bus += data.length) }),
    stack,
  );
  const { url } = await startPeer(server, redisUrl, stack);
  const socketHost = await startTapProxy(
    () => url,
    () => ({ back: (data) => void (bytes.socket += data.length) }),
    stack,
  );
  const publisher = createClient({ url: redirect(redisUrl, busHost) });
  await publisher.connect();
  stack.defer('publisher', () => publisher.close());
  const create = server === 'ws' ? createWsClient : createSocketIoClient;
  const spec = { kind: server, url: `http://${socketHost}`, auth: {}, workspaceIds: ['room'] };
  const client = create(spec, () => undefined);
  await client.open();
  stack.defer('client', async () => client.close());

  const from = { ...bytes };
  const message_id = randomUUID();
  for (let n = 0; n < tokens; n += 1) {
    const payload = { message_id, chunk_seq: n, chunk: TOKEN };
    await publisher.publish('peers', JSON.stringify({ room: 'room', event: 'message.chunk', payload }));
    await sleep(paceMs);
  }
  await sleep(SETTLE_MS);
  const text = tokens * TOKEN.length;
  return { server, bus: (bytes.bus - from.bus) / text, socket: (bytes.socket - from.socket) / text };
}
