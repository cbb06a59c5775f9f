import { once } from 'node:events';
import { io } from 'socket.io-client';
import { WebSocket } from 'ws';
import { monotonicMs } from '../../turns/observations.js';
import { type ClientSpec, type Outage, PROBE } from './commands.js';
import type { Client } from './uswarm-client.js';

type Probed = (ms: number) => void;

const NO_STATE = { outages: [], applied: {} };

/** A client for the bare socket.io server. */
export function createSocketIoClient({ url, workspaceIds }: ClientSpec, probed: Probed): Client {
  const socket = io(url, { forceNew: true, autoConnect: false, transports: ['websocket'] });
  const outages: Outage[] = [];
  const subscribed = Promise.withResolvers<void>();
  socket.on(PROBE, ({ query }: { query: string }) => probed(monotonicMs() - Number(query)));
  socket.on('disconnect', () => outages.push({ from: monotonicMs(), to: null }));
  socket.on('connect', async () => {
    await socket.emitWithAck('subscribe', workspaceIds);
    const outage = outages.at(-1);
    if (outage !== undefined) outage.to ??= monotonicMs();
    subscribed.resolve();
  });
  return {
    open() {
      socket.connect();
      return subscribed.promise;
    },
    state: () => ({ outages, applied: {} }),
    close: () => void socket.disconnect(),
  };
}

/** A client for the bare `ws` server. */
export function createWsClient({ url, workspaceIds }: ClientSpec, probed: Probed): Client {
  let socket: WebSocket | undefined;
  return {
    async open() {
      const opened = new WebSocket(url.replace(/^http/, 'ws'));
      socket = opened;
      await once(opened, 'open');
      opened.send(JSON.stringify(workspaceIds));
      await once(opened, 'message');
      opened.on('message', (data: Buffer) => {
        const [event, payload] = JSON.parse(data.toString()) as [string, { query: string }];
        if (event === PROBE) probed(monotonicMs() - Number(payload.query));
      });
    },
    state: () => NO_STATE,
    close: () => socket?.close(),
  };
}
