import { createServer, request as httpRequest } from 'node:http';
import { afterEach, describe, expect, it } from '@jest/globals';
import { listen } from '@uswarm/service-kit';
import { eventually } from '@uswarm/testkit/eventually';
import { chunk, EPOCH, messageDone, messageNew, OTHER_WORKSPACE, skip, WORKSPACE } from '../../../test/envelopes.js';
import { createManualTimers } from '../../../test/manual-timers.js';
import {
  acceptingOrchestrator,
  startTestGateway,
  USER,
  type TestGateway,
  type TestGatewayOptions,
} from '../../../test/test-gateway.js';
import { openStream, type StreamOptions, type TestStream } from '../../../test/test-stream.js';

const BOTH = [WORKSPACE, OTHER_WORKSPACE];
const HASH = 'a'.repeat(64);

let gateway: TestGateway;
let streams: TestStream[] = [];
afterEach(async () => {
  const open = streams;
  streams = [];
  for (const stream of open) stream.close();
  await gateway.close();
});
const start = async (options: TestGatewayOptions = {}): Promise<void> => {
  gateway = await startTestGateway(options);
};
const open = async (options: StreamOptions = {}, url = gateway.url): Promise<TestStream> => {
  const stream = await openStream(url, { workspaces: [WORKSPACE], ...options });
  streams.push(stream);
  return stream;
};
const count = async (metric: string, labels: string): Promise<number> =>
  Number(new RegExp(`{${labels}} (\\d+)`).exec(await gateway.metric(metric))?.[1]);

/** Where the events come from, as `<workspace>:<seq>`. */
const places = (events: TestStream['events']): string[] =>
  events.flatMap(({ payload }) => {
    const { workspace_id, seq, message } = payload as { workspace_id?: string; seq?: number; message?: object };
    return seq === undefined || message === undefined ? [] : [`${BOTH.indexOf(workspace_id ?? '')}:${seq}`];
  });

describe('a stream', () => {
  it('has the session, the subscription, and the events with their text, in this order', async () => {
    await start();
    await gateway.publish(messageNew(1));
    const stream = await open();
    await stream.next('workspace.subscribed');
    await gateway.publish(messageNew(2), chunk(2, { offset: 0 }), messageDone(3));
    await stream.next('message.done');
    expect(stream.response.headers).toMatchObject({
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
    });
    expect(stream.text()).toMatch(/^retry: [12]\d{3}\n\n/);
    // A newer resume token follows a second later.
    const [first, ...others] = stream.events;
    expect(first).toMatchObject({ name: 'session.ready', id: undefined });
    const rest = others.filter(({ name }) => name !== 'session.ready');
    expect(rest.map(({ name, id }) => ({ name, hasId: id !== undefined }))).toEqual([
      { name: 'workspace.subscribed', hasId: true },
      { name: 'message.new', hasId: true },
      { name: 'message.chunk', hasId: false },
      { name: 'message.done', hasId: true },
    ]);
  });

  it('begins after the position of a snapshot', async () => {
    await start();
    await gateway.publish(messageNew(1), messageNew(2), messageNew(3), messageNew(1, OTHER_WORKSPACE));
    const since = [`${WORKSPACE}@${EPOCH}:1`, `${OTHER_WORKSPACE.toUpperCase()}@${EPOCH}:0`];
    const stream = await open({ workspaces: BOTH, since });
    await stream.next('workspace.position');
    await stream.next('workspace.position');
    expect(places(stream.events).toSorted()).toEqual(['0:2', '0:3', '1:1']);
  });

  it('continues after a cut at any frame without a loss or a duplicate', async () => {
    await start();
    await gateway.publish(messageNew(1), messageNew(1, OTHER_WORKSPACE));
    const request = { workspaces: BOTH, since: BOTH.map((id) => `${id}@${EPOCH}:0`) };
    const whole = await open(request);
    await whole.next('workspace.position');
    await whole.next('workspace.position');
    await gateway.publish(messageNew(2), chunk(2, { offset: 0 }), skip(3), messageNew(2, OTHER_WORKSPACE));
    await gateway.publish(messageNew(4), messageNew(3, OTHER_WORKSPACE), messageNew(5), messageNew(6));
    await eventually(() => places(whole.events).length === 8);
    const frames = [...whole.events];
    const expected = ['0:1', '0:2', '0:4', '0:5', '0:6', '1:1', '1:2', '1:3'];
    const results = await Promise.all(
      frames.map(async (_event, index) => {
        const seen = frames.slice(0, index + 1);
        const lastEventId = seen.findLast(({ id }) => id !== undefined)?.id;
        const rest = await open({ ...request, ...(lastEventId !== undefined && { lastEventId }) });
        await rest.next('workspace.position');
        await rest.next('workspace.position');
        return [...places(seen), ...places(rest.events)].toSorted();
      }),
    );
    expect(results).toEqual(frames.map(() => expected));
  });

  it('ignores positions of workspaces that it does not name', async () => {
    await start();
    await gateway.publish(messageNew(1), messageNew(1, OTHER_WORKSPACE));
    const first = await open({ workspaces: BOTH });
    await first.next('workspace.subscribed');
    const second = await open({ lastEventId: first.lastId() ?? '', since: [`${OTHER_WORKSPACE}@${EPOCH}:0`] });
    await second.next('workspace.position');
    await gateway.publish(messageNew(2, OTHER_WORKSPACE), messageNew(2));
    await second.next('message.new');
    expect(places(second.events)).toEqual(['0:2']);
  });

  it('tells a client of another epoch to reload, until it sends a position of this one', async () => {
    await start();
    await gateway.publish(messageNew(1), messageNew(1, OTHER_WORKSPACE));
    const before = await open({ workspaces: BOTH });
    await before.next('workspace.subscribed');
    gateway.log.epoch = 'e2';
    const after = await open({ workspaces: BOTH, lastEventId: (before.lastId() ?? '').replaceAll('~e1', '~e0') });
    expect(await after.next('workspace.resync')).toMatchObject({ reason: 'diverged' });
    await after.next('workspace.resync');
    // It ended before it reloaded the workspaces.
    const again = await open({ workspaces: BOTH, lastEventId: after.lastId() ?? '' });
    await again.next('workspace.resync');
    const reloaded = await open({ lastEventId: after.lastId() ?? '', since: [`${WORKSPACE}@e2:1`] });
    expect(await reloaded.next('workspace.position')).toEqual({ workspace_id: WORKSPACE, seq: 1 });
    expect(reloaded.names()).toEqual(['workspace.subscribed', 'workspace.position']);
  });

  it('has the events of its user', async () => {
    await start();
    const stream = await open();
    await stream.next('workspace.subscribed');
    gateway.bus.publishUserEvent({
      v: 1,
      user_id: USER,
      event: 'workspace.deleted',
      payload: { workspace_id: OTHER_WORKSPACE },
    });
    expect(await stream.next('workspace.deleted')).toEqual({ workspace_id: OTHER_WORKSPACE });
  });

  it('sends a comment every 15 seconds', async () => {
    const timers = createManualTimers();
    await start({ timers });
    const stream = await open();
    await stream.next('workspace.subscribed');
    const comments = () => stream.text().match(/^:$/gm)?.length ?? 0;
    for (let times = 1; times <= 3; times += 1) {
      timers.advance(14_999);
      timers.advance(1);
      await eventually(() => comments() === times);
    }
    expect(comments()).toBe(3);
  });

  it('is admitted by its resume token while credentials cannot be verified', async () => {
    let isAvailable = true;
    await start({
      orchestrator: {
        async authenticate(...args) {
          if (!isAvailable) throw new Error('unavailable');
          return await acceptingOrchestrator.authenticate(...args);
        },
      },
      settings: { handshakePatienceMs: 0 },
    });
    const first = await open();
    const { resume_token: token, session_id: sessionId } = await first.next('session.ready');
    isAvailable = false;
    const second = await open({ headers: { 'x-resume-token': token } });
    expect(await second.next('session.ready')).toMatchObject({ resumed: true, session_id: sessionId });
  });

  it('arrives immediately through a proxy that keeps nothing back', async () => {
    await start();
    const proxy = await listen(
      createServer((incoming, outgoing) => {
        const upstream = httpRequest(`${gateway.url}${incoming.url}`, { headers: incoming.headers }, (answer) => {
          outgoing.writeHead(answer.statusCode ?? 0, answer.headers);
          outgoing.flushHeaders();
          answer.on('error', () => outgoing.destroy()).pipe(outgoing);
        });
        outgoing.on('close', () => upstream.destroy());
        upstream.on('error', () => outgoing.destroy()).end();
      }),
      { host: '127.0.0.1', port: 0 },
    );
    const stream = await open({}, proxy.url);
    await stream.next('workspace.subscribed');
    for (const seq of [1, 2, 3]) {
      await gateway.publish(messageNew(seq));
      expect(await stream.next('message.new')).toMatchObject({ seq });
    }
    stream.close();
    await eventually(async () => (await gateway.metric('uswarm_gateway_sockets')).endsWith(' 0'));
    await proxy.close(0);
  });
});

describe('the end of a stream', () => {
  const identity = { user_id: USER, expires_at: null, token_hash: HASH };

  it('is announced before its credential expires', async () => {
    const timers = createManualTimers();
    await start({ timers, orchestrator: { authenticate: async () => ({ ...identity, expires_in_ms: 120_000 }) } });
    const stream = await open();
    await stream.next('workspace.subscribed');
    timers.advance(60_000);
    expect(await stream.next('session.ending')).toMatchObject({ code: 'token_expired', reconnect: true });
    timers.advance(60_000);
    expect(await stream.next('session.ending')).toEqual({ code: 'token_expired', reconnect: true, in_ms: 0 });
    expect(await stream.ended).toMatch(/event: session\.ending\ndata: .*\n\n$/);
  });

  it('follows the revocation of its session, with the code', async () => {
    await start({ orchestrator: { authenticate: async () => identity } });
    const stream = await open();
    await stream.next('workspace.subscribed');
    await gateway.bus.publishSessionEnd({ v: 1, user_id: USER, token_hash: HASH, code: 'logged_out' });
    expect(await stream.next('session.ending')).toEqual({ code: 'logged_out', reconnect: false, in_ms: 0 });
    await stream.ended;
  });

  it('follows too many streams and sockets of its user', async () => {
    await start({ settings: { socketsPerUser: 2 } });
    const oldest = await open();
    await oldest.next('workspace.subscribed');
    await gateway.connect();
    const newest = await open();
    expect(await oldest.next('session.ending')).toEqual({ code: 'too_many_sockets', reconnect: false, in_ms: 0 });
    await oldest.ended;
    await gateway.publish(messageNew(1));
    expect(await newest.next('message.new')).toMatchObject({ seq: 1 });
  });

  it('is that of a slow consumer if its client does not read', async () => {
    await start({ settings: { outlet: { unflushedBytes: 64 * 1024, stallMs: 1_000 } } });
    const [reading, stuck] = [await open(), await open()];
    for (const stream of [reading, stuck]) await stream.next('workspace.subscribed');
    stuck.response.socket.pause();
    stuck.response.pause();
    const isClosed = async (): Promise<boolean> =>
      (await count('uswarm_gateway_sessions_ended_total', 'code="slow_consumer"')) === 1;
    // The kernel buffers some megabytes on both sides.
    for (let seq = 1; !(await isClosed()); seq += 1) {
      const envelope = messageNew(seq);
      Object.assign(envelope.payload['message'] as object, { content: { type: 'text', text: 'x'.repeat(32_000) } });
      await gateway.publish(envelope);
      expect(await reading.next('message.new')).toMatchObject({ seq });
    }
    await eventually(async () => (await gateway.metric('uswarm_gateway_sockets')).endsWith(' 1'));
  });

  it('is announced by a gateway that shuts down, which then refuses others', async () => {
    await start();
    const stream = await open();
    await stream.next('workspace.subscribed');
    const leaving = gateway.shutDown();
    expect(await stream.next('session.ending')).toEqual({ code: 'server_leaving', reconnect: true, in_ms: 0 });
    await stream.ended;
    await leaving;
    const late = await open();
    expect({ status: late.status, text: await late.ended }).toEqual({
      status: 503,
      text: expect.stringContaining('"code":"service_unavailable"'),
    });
  });

  it('is counted when its client leaves', async () => {
    await start();
    const stream = await open();
    await stream.next('workspace.subscribed');
    expect(await gateway.metric('uswarm_gateway_sockets')).toMatch(/ 1$/);
    expect(await gateway.metric('uswarm_gateway_subscriptions')).toMatch(/ 1$/);
    stream.close();
    await eventually(async () => (await gateway.metric('uswarm_gateway_sockets')).endsWith(' 0'));
    expect(await gateway.metric('uswarm_gateway_subscriptions')).toMatch(/ 0$/);
    expect(await count('uswarm_gateway_disconnects_total', 'reason="transport close"')).toBe(1);
  });
});
