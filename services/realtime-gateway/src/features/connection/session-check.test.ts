import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { ApiError } from '@uswarm/contract';
import { silentLogger } from '@uswarm/service-kit';
import { createManualTimers } from '../../../test/manual-timers.js';
import type { OrchestratorClient } from '../../orchestrator-client.js';
import { checkSessions } from './session-check.js';
import type { OpenSession } from './session-registry.js';

const EVERY_MS = 60_000;
const RETRY_MS = 2_000;
const CONFIRM_MS = 1_000;

function setUp(names: readonly string[], endedSessions: OrchestratorClient['endedSessions']) {
  const timers = createManualTimers();
  let time = 0;
  const closed: string[] = [];
  const sessions: OpenSession[] = names.map((name) => ({
    data: {
      userId: name,
      credentialHash: '',
      expiresAt: null,
      tokenHash: null,
      issuedAt: null,
      access: null,
      confirmedAt: 0,
    },
    close: () => void closed.push(name),
  }));
  const { confirm, stop } = checkSessions({
    orchestrator: { endedSessions },
    open: () => sessions,
    everyMs: EVERY_MS,
    retryMs: RETRY_MS,
    confirmMs: CONFIRM_MS,
    timers,
    now: () => time,
    logger: silentLogger,
  });
  const pass = async (ms = EVERY_MS): Promise<void> => {
    time += ms;
    timers.advance(ms);
    // Lets the request and its response complete.
    for (let turn = 0; turn < 5; turn += 1) await setImmediate();
  };
  return { timers, closed, sessions, confirm, stop, pass };
}

describe('checkSessions', () => {
  it('closes sockets of revoked sessions in each check', async () => {
    const answers = [[1], [0, 2]];
    const { closed, pass, stop } = setUp(['a', 'b', 'c'], async () => ({ ended: answers.shift() ?? [] }));
    await pass();
    expect(closed).toEqual(['b']);
    await pass();
    expect(closed).toEqual(['b', 'a', 'c']);
    stop();
  });

  it('splits many sockets into several requests, each with its own indexes', async () => {
    const names = Array.from({ length: 1_201 }, (_, n) => `user ${n}`);
    const sizes: number[] = [];
    const { closed, pass, stop } = setUp(names, async (sessions) => {
      sizes.push(sessions.length);
      return { ended: [0] };
    });
    await pass();
    expect(sizes).toEqual([500, 500, 201]);
    expect(closed).toEqual(['user 0', 'user 500', 'user 1000']);
    stop();
  });

  it('closes nothing while the orchestrator is unavailable, and checks again soon', async () => {
    let unavailable = true;
    const { closed, pass, stop } = setUp(['a'], async () => {
      if (unavailable) throw new ApiError('service_unavailable');
      return { ended: [0] };
    });
    await pass();
    await pass(RETRY_MS);
    expect(closed).toEqual([]);
    unavailable = false;
    await pass(RETRY_MS);
    expect(closed).toEqual(['a']);
    stop();
  });

  it('records when a session was confirmed', async () => {
    const { sessions, pass, stop } = setUp(['a', 'b'], async () => ({ ended: [1] }));
    await pass();
    expect(sessions.map(({ data }) => data.confirmedAt)).toEqual([EVERY_MS, 0]);
    stop();
  });

  it('ignores a result about a credential that was replaced meanwhile', async () => {
    const { closed, sessions, pass, stop } = setUp(['a'], async () => {
      sessions[0]!.data.tokenHash = 'b'.repeat(64);
      return { ended: [0] };
    });
    await pass();
    expect(closed).toEqual([]);
    expect(sessions[0]!.data.confirmedAt).toBe(0);
    stop();
  });

  it('sends no request without sockets or after it is stopped', async () => {
    let requests = 0;
    const { pass, stop, timers } = setUp([], async () => {
      requests += 1;
      return { ended: [] };
    });
    await pass();
    stop();
    expect({ requests, timers: timers.pending() }).toEqual({ requests: 0, timers: 0 });
  });
});

describe('the confirmation of a resuming session', () => {
  const session = (userId: string) => ({ userId, tokenHash: null, issuedAt: null });

  it('shares one request with the sessions that resume at the same time', async () => {
    const requests: string[][] = [];
    const { confirm, pass, stop } = setUp([], async (sessions) => {
      requests.push(sessions.map(({ user_id }) => user_id));
      return { ended: [1] };
    });
    const states = Promise.all(['a', 'b', 'c'].map((name) => confirm(session(name))));
    await pass(20);
    expect(await states).toEqual(['open', 'ended', 'open']);
    expect(requests).toEqual([['a', 'b', 'c']]);
    stop();
  });

  it('splits a storm of resuming sessions into requests of 500', async () => {
    const sizes: number[] = [];
    const { confirm, pass, stop } = setUp([], async (sessions) => {
      sizes.push(sessions.length);
      return { ended: [] };
    });
    const states = Promise.all(Array.from({ length: 1_100 }, (_, n) => confirm(session(`user ${n}`))));
    await pass(20);
    expect(new Set(await states)).toEqual(new Set(['open']));
    expect(sizes).toEqual([500, 500, 100]);
    stop();
  });

  it.each<[string, OrchestratorClient['endedSessions']]>([
    ['is unavailable', () => Promise.reject(new ApiError('service_unavailable'))],
    ['does not respond in time', () => new Promise(() => undefined)],
  ])('is unknown if the orchestrator %s', async (_what, endedSessions) => {
    const { confirm, pass, stop } = setUp([], endedSessions);
    const state = confirm(session('a'));
    await pass(20);
    await pass(CONFIRM_MS);
    expect(await state).toBe('unknown');
    stop();
  });

  it('makes the next check follow soon if it was unknown', async () => {
    let unavailable = true;
    const { closed, confirm, pass, stop } = setUp(['a'], async () => {
      if (unavailable) throw new ApiError('service_unavailable');
      return { ended: [0] };
    });
    const state = confirm(session('a'));
    await pass(20);
    expect(await state).toBe('unknown');
    unavailable = false;
    await pass(RETRY_MS);
    expect(closed).toEqual(['a']);
    stop();
  });
});
