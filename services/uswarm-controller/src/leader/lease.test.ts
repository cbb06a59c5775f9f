import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createCredentials, createKubeClient, type Credentials } from '@uswarm/kube-client';
import { silentLogger, systemClock } from '@uswarm/service-kit';
import { eventually } from '@uswarm/testkit/eventually';
import { type ScriptedApi, startScriptedApi } from '@uswarm/testkit/scripted-api';
import { runLeaderElection } from './leader-election.js';
import { createLease, type Lease } from './lease.js';

const LEASES = '/apis/coordination.k8s.io/v1/namespaces/backend/leases';
const never = new AbortController().signal;

describe('the lease', () => {
  let api: ScriptedApi;
  let credentials: Credentials;
  let elapsed: number;

  beforeEach(async () => {
    api = await startScriptedApi();
    credentials = await createCredentials(api.config);
    elapsed = 0;
  });
  afterEach(async () => {
    await credentials.close();
    await api.close();
  });

  const lease = (identity: string): Lease =>
    createLease({
      client: createKubeClient({ credentials, fieldManager: 'test' }),
      namespace: 'backend',
      name: 'c',
      identity,
      durationS: 15,
      clock: systemClock,
      elapsed: () => elapsed,
    });
  const spec = (): unknown => api.get(LEASES, 'c')?.['spec'];

  it('is held by the first process only while it is renewed', async () => {
    const [a, b] = [lease('a'), lease('b')];
    expect(await a.tryAcquireOrRenew(never)).toBe(true);
    for (let round = 0; round < 4; round += 1) {
      elapsed += 10_000;
      expect(await a.tryAcquireOrRenew(never)).toBe(true);
      expect(await b.tryAcquireOrRenew(never)).toBe(false);
    }
    expect(spec()).toMatchObject({ holderIdentity: 'a', leaseDurationSeconds: 15, leaseTransitions: 0 });
  });

  it('is acquired by another process after it was observed unchanged for its duration, regardless of its timestamps', async () => {
    const [a, b] = [lease('a'), lease('b')];
    await a.tryAcquireOrRenew(never);
    api.put(LEASES, {
      ...api.get(LEASES, 'c')!,
      spec: { ...(spec() as object), renewTime: '2001-01-01T00:00:00.000000Z' },
    });
    expect(await b.tryAcquireOrRenew(never)).toBe(false);
    elapsed += 15_001;
    expect(await b.tryAcquireOrRenew(never)).toBe(true);
    expect(spec()).toMatchObject({ holderIdentity: 'b', leaseTransitions: 1 });
    expect(await a.tryAcquireOrRenew(never)).toBe(false);
  });

  it('can be acquired immediately after its release', async () => {
    const [a, b] = [lease('a'), lease('b')];
    await a.tryAcquireOrRenew(never);
    expect(await b.tryAcquireOrRenew(never)).toBe(false);
    await b.release(never);
    expect(spec()).toMatchObject({ holderIdentity: 'a' });
    await a.release(never);
    expect(await b.tryAcquireOrRenew(never)).toBe(true);
  });

  it('is released although the response to the last renewal was lost', async () => {
    const [a, b] = [lease('a'), lease('b')];
    await a.tryAcquireOrRenew(never);
    api.put(LEASES, api.get(LEASES, 'c')!);
    await a.release(never);
    expect(spec()).toMatchObject({ holderIdentity: '' });
    expect(await b.tryAcquireOrRenew(never)).toBe(true);
  });

  it('is not released if another process has acquired it', async () => {
    const a = lease('a');
    await a.tryAcquireOrRenew(never);
    api.put(LEASES, { ...api.get(LEASES, 'c')!, spec: { ...(spec() as object), holderIdentity: 'b' } });
    await a.release(never);
    expect(spec()).toMatchObject({ holderIdentity: 'b' });
  });

  it('is acquired by only one of many concurrent processes', async () => {
    const all = ['a', 'b', 'c', 'd'].map((name) => lease(name));
    const held = await Promise.all(all.map((one) => one.tryAcquireOrRenew(never)));
    expect(held.filter(Boolean)).toHaveLength(1);
  });

  it('is not given up when the server is unreachable', async () => {
    const a = lease('a');
    await a.tryAcquireOrRenew(never);
    const heal = api.script((_request, response) => {
      response.writeHead(500).end('{}');
      return true;
    });
    await expect(a.tryAcquireOrRenew(never)).rejects.toThrow();
    heal();
    expect(await a.tryAcquireOrRenew(never)).toBe(true);
  });
});

describe('leader election', () => {
  const TIMING = { retryPeriodMs: 10, renewDeadlineMs: 3_000 };

  /** A leader election with a lease that the test controls. */
  const scripted = () => {
    const lease = { answer: (): boolean => false, released: 0, led: 0, leading: false };
    const stopping = new AbortController();
    const running = runLeaderElection(
      {
        lease: {
          tryAcquireOrRenew: async () => lease.answer(),
          release: async () => void (lease.released += 1),
        },
        timing: TIMING,
        logger: silentLogger,
        onStartedLeading: async (signal) => {
          lease.led += 1;
          lease.leading = true;
          await new Promise((resolve) => signal.addEventListener('abort', resolve));
          lease.leading = false;
        },
      },
      stopping.signal,
    );
    const stop = async (): Promise<void> => {
      stopping.abort();
      await running;
    };
    return { lease, stop };
  };

  it('leads while the lease is held, and releases it after leading has ended', async () => {
    const { lease, stop } = scripted();
    lease.answer = () => true;
    await eventually(() => lease.leading);
    expect(lease.released).toBe(0);
    await stop();
    expect(lease).toMatchObject({ leading: false, led: 1, released: 1 });
  });

  it('counts the first acquisition from the time of the request', async () => {
    const stopping = new AbortController();
    let requests = 0;
    let ended = false;
    const running = runLeaderElection(
      {
        lease: {
          async tryAcquireOrRenew() {
            requests += 1;
            // The response comes after the renew deadline, so no time is left for a renewal.
            await new Promise((resolve) => setTimeout(resolve, TIMING.renewDeadlineMs + 10));
            return true;
          },
          release: async () => {},
        },
        timing: TIMING,
        logger: silentLogger,
        async onStartedLeading(signal) {
          while (!signal.aborted) await new Promise((resolve) => setTimeout(resolve, 1));
          ended = true;
          stopping.abort();
        },
      },
      stopping.signal,
    );
    await eventually(() => ended);
    await running;
    expect(requests).toBe(1);
  });

  it('returns to standby when another process holds the lease, and can lead again', async () => {
    const { lease, stop } = scripted();
    lease.answer = () => true;
    await eventually(() => lease.leading);
    lease.answer = () => false;
    await eventually(() => !lease.leading);
    lease.answer = () => true;
    await eventually(() => lease.led === 2 && lease.leading);
    await stop();
    expect(lease).toMatchObject({ leading: false, released: 1 });
  });

  it('keeps leading through a short outage and stops in a long one', async () => {
    const { lease, stop } = scripted();
    lease.answer = () => true;
    await eventually(() => lease.leading);
    let failures = 0;
    lease.answer = () => {
      failures += 1;
      if (failures > 2) return true;
      throw new Error('no answer');
    };
    await eventually(() => failures > 4);
    expect(lease).toMatchObject({ leading: true, led: 1 });
    lease.answer = () => {
      throw new Error('no answer');
    };
    await eventually(() => !lease.leading);
    await stop();
  });
});
