import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { ApiError } from '@uswarm/contract';
import { silentLogger } from '@uswarm/service-kit';
import { createManualTimers } from '../../../test/manual-timers.js';
import type { OrchestratorClient } from '../../orchestrator-client.js';
import { checkSessions } from './session-check.js';
import type { OpenSession } from './session-registry.js';

const EVERY_MS = 60_000;

function setUp(names: readonly string[], endedSessions: OrchestratorClient['endedSessions']) {
  const timers = createManualTimers();
  const closed: string[] = [];
  const sessions: OpenSession[] = names.map((name) => ({
    userId: name,
    tokenHash: null,
    issuedAt: null,
    requestedAt: 0,
    close: () => void closed.push(name),
  }));
  const stop = checkSessions({
    orchestrator: { endedSessions },
    open: () => sessions,
    everyMs: EVERY_MS,
    timers,
    logger: silentLogger,
  });
  const pass = async (): Promise<void> => {
    timers.advance(EVERY_MS);
    // Lets the request and its response complete.
    for (let turn = 0; turn < 5; turn += 1) await setImmediate();
  };
  return { timers, closed, stop, pass };
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

  it('closes nothing while the orchestrator is unavailable, and retries', async () => {
    let unavailable = true;
    const { closed, pass, stop } = setUp(['a'], async () => {
      if (unavailable) throw new ApiError('service_unavailable');
      return { ended: [0] };
    });
    await pass();
    expect(closed).toEqual([]);
    unavailable = false;
    await pass();
    expect(closed).toEqual(['a']);
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
