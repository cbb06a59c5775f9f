import { createServer, type Http2ServerRequest, type Http2ServerResponse, type ServerHttp2Session } from 'node:http2';
import { setTimeout as sleep } from 'node:timers/promises';
import { type ListenOptions, openPort } from '@uswarm/service-kit';
import { defaultTurnLimits } from '../turns/turn-registry.js';

export interface Http2Listening {
  port: number;
  /** Sends GOAWAY to all sessions, waits up to `graceMs`, then destroys the rest. */
  close(graceMs: number): Promise<void>;
}

/** Megabytes that a connection buffers. Node's default of 10 is less than some turns' events. */
const SESSION_MB = 64;

/** Each running turn needs two: for its events and its commits. The others are for short calls. */
const MAX_STREAMS = 4 * defaultTurnLimits.running;

/** HTTP/2 without TLS, with prior knowledge (h2c), for gRPC. @throws the listen error */
export async function listenHttp2(
  handler: (request: Http2ServerRequest, response: Http2ServerResponse) => void,
  options: Pick<ListenOptions, 'host' | 'port'>,
): Promise<Http2Listening> {
  const server = createServer(
    { maxSessionMemory: SESSION_MB, settings: { maxConcurrentStreams: MAX_STREAMS } },
    handler,
  );
  const sessions = new Set<ServerHttp2Session>();
  server.on('session', (session) => {
    sessions.add(session);
    session.once('close', () => sessions.delete(session));
  });
  const bound = await openPort(server, options);
  return {
    port: bound,
    async close(graceMs) {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const session of sessions) session.close();
      await Promise.race([closed, sleep(graceMs, undefined, { ref: false })]);
      for (const session of sessions) session.destroy();
      await closed;
    },
  };
}
