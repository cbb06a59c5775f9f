import { beforeEach, describe, expect, it } from '@jest/globals';
import type { KubernetesObject } from '@uswarm/contract/userswarm';
import { KubeError } from '@uswarm/kube-client';
import { createDrainFlag, type DrainFlag } from './drain-flag.js';
import { PlatformUnreachable } from '../driver.js';

const TODAY = Date.parse('2030-01-01T00:00:00Z');
const place = { namespace: 'backend', name: 'uswarm-drain' };

describe('the flag of a drain', () => {
  let asked: object[];
  let answer: () => Promise<KubernetesObject>;
  let now: number;
  let flag: DrainFlag;
  beforeEach(() => {
    asked = [];
    now = 0;
    flag = createDrainFlag({
      client: {
        get: (resource, name) => {
          asked.push({ kind: resource.kind, ...name });
          return answer();
        },
      },
      configMap: place,
      clock: { now: () => new Date(TODAY + now) },
      elapsed: () => now,
    });
  });
  const flagWith = (fields: { metadata?: object; data?: object }) => async (): Promise<KubernetesObject> => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    ...fields,
    metadata: { ...place, ...fields.metadata },
  });
  const timeAt = (ms: number): string => new Date(TODAY + ms).toISOString();
  const there = flagWith({ data: { expiresAt: timeAt(60_000) } });
  const refused = (status: number) => async (): Promise<KubernetesObject> => {
    throw new KubeError(status, {});
  };

  it('is asked for each time, as long as it is down', async () => {
    answer = refused(404);
    expect([await flag.raised(), await flag.raised()]).toEqual([false, false]);
    expect(asked).toEqual([
      { kind: 'ConfigMap', ...place },
      { kind: 'ConfigMap', ...place },
    ]);
  });

  it('counts as raised for a while once it was seen, and is looked at again then', async () => {
    answer = there;
    expect([await flag.raised(), await flag.raised()]).toEqual([true, true]);
    expect(asked).toHaveLength(1);
    answer = refused(404);
    now += 2_999;
    expect(await flag.raised()).toBe(true);
    now += 1;
    expect(await flag.raised()).toBe(false);
  });

  it('does not count once it has expired, so a removal that failed does not stop the platform', async () => {
    answer = flagWith({ data: { expiresAt: timeAt(1_000) } });
    expect(await flag.raised()).toBe(true);
    now += 999;
    expect(await flag.raised()).toBe(true);
    now += 1;
    expect(await flag.raised()).toBe(false);
  });

  it('of release 0.2, which names no expiry, counts for ten minutes from its creation', async () => {
    answer = flagWith({ metadata: { creationTimestamp: timeAt(0) } });
    expect(await flag.raised()).toBe(true);
    now += 10 * 60_000;
    expect(await flag.raised()).toBe(false);
  });

  it.each([403, 500])('is in doubt after an answer %i: nothing may be made then', async (status) => {
    answer = refused(status);
    await expect(flag.raised()).rejects.toBeInstanceOf(PlatformUnreachable);
  });
});
