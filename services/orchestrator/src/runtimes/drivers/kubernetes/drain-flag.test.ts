import { beforeEach, describe, expect, it } from '@jest/globals';
import { KubeError, type KubernetesObject } from '@uswarm/kube-client';
import { createDrainFlag, type DrainFlag } from './drain-flag.js';
import { PlatformUnreachable } from '../driver.js';

const TODAY = Date.parse('2030-01-01T00:00:00Z');
const configMap = { namespace: 'backend', name: 'uswarm-drain' };

describe('the drain flag', () => {
  let requests: object[];
  let respond: () => Promise<KubernetesObject>;
  let now: number;
  let flag: DrainFlag;
  beforeEach(() => {
    requests = [];
    now = 0;
    flag = createDrainFlag({
      client: {
        get: (resource, name) => {
          requests.push({ kind: resource.kind, ...name });
          return respond();
        },
      },
      configMap,
      clock: { now: () => new Date(TODAY + now) },
      elapsed: () => now,
    });
  });
  const flagWith = (fields: { metadata?: object; data?: object }) => async (): Promise<KubernetesObject> => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    ...fields,
    metadata: { ...configMap, ...fields.metadata },
  });
  const timeAt = (ms: number): string => new Date(TODAY + ms).toISOString();
  const raised = flagWith({ data: { expiresAt: timeAt(60_000) } });
  const refused = (status: number) => async (): Promise<KubernetesObject> => {
    throw new KubeError(status, {});
  };

  it('is read on each call while it is lowered', async () => {
    respond = refused(404);
    expect(await flag.raised()).toBe(false);
    expect(await flag.raised()).toBe(false);
    expect(requests).toEqual([
      { kind: 'ConfigMap', ...configMap },
      { kind: 'ConfigMap', ...configMap },
    ]);
  });

  it('is cached for three seconds while it is raised', async () => {
    respond = raised;
    expect(await flag.raised()).toBe(true);
    expect(await flag.raised()).toBe(true);
    expect(requests).toHaveLength(1);
    respond = refused(404);
    now += 2_999;
    expect(await flag.raised()).toBe(true);
    now += 1;
    expect(await flag.raised()).toBe(false);
  });

  it('is ignored after it expires, so that a failed removal does not block the platform', async () => {
    respond = flagWith({ data: { expiresAt: timeAt(1_000) } });
    expect(await flag.raised()).toBe(true);
    now += 999;
    expect(await flag.raised()).toBe(true);
    now += 1;
    expect(await flag.raised()).toBe(false);
  });

  it('is valid for ten minutes from its creation if release 0.2 created it without an expiry', async () => {
    respond = flagWith({ metadata: { creationTimestamp: timeAt(0) } });
    expect(await flag.raised()).toBe(true);
    now += 10 * 60_000;
    expect(await flag.raised()).toBe(false);
  });

  it.each([403, 500])('cannot be read after status %i, which is reported as PlatformUnreachable', async (status) => {
    respond = refused(status);
    await expect(flag.raised()).rejects.toBeInstanceOf(PlatformUnreachable);
  });
});
