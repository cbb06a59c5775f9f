import { once } from 'node:events';
import { connect, type ServerHttp2Stream } from 'node:http2';
import { afterEach, describe, expect, it } from '@jest/globals';
import { defaultTurnLimits } from '../turns/turn-registry.js';
import { type Http2Listening, listenHttp2 } from './http2-server.js';

describe('the HTTP/2 server', () => {
  let server: Http2Listening | undefined;
  afterEach(() => server?.close(0));

  it('accepts events and commits of all turns that may run, and short calls, over one connection', async () => {
    const calls = 2 * defaultTurnLimits.running + 8;
    const open = new Set<ServerHttp2Stream>();
    const allOpen = Promise.withResolvers<void>();
    server = await listenHttp2(
      ({ stream }) => {
        open.add(stream);
        if (open.size === calls) allOpen.resolve();
      },
      { host: '127.0.0.1', port: 0 },
    );
    const session = connect(`http://127.0.0.1:${server.port}`);
    await once(session, 'remoteSettings');
    for (let call = 0; call < calls; call += 1) session.request({ ':path': '/' }).on('error', () => undefined);
    await allOpen.promise;
    expect(open.size).toBe(calls);
    session.destroy();
  });
});
