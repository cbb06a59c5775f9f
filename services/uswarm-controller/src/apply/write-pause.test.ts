import { beforeEach, describe, expect, it } from '@jest/globals';
import { KubeError } from '@uswarm/kube-client';
import { USERSWARMS } from '@uswarm/contract/userswarm';
import { createWritePause, type SyncClient, withPause, type WritePause } from './write-pause.js';

describe('the pause of all writes', () => {
  let time: number;
  let pause: WritePause;
  beforeEach(() => {
    time = 0;
    pause = createWritePause(
      () => time,
      () => 1,
    );
  });

  it('starts with a 429, doubles with each further one, and resets after a success', () => {
    expect(pause.leftMs()).toBe(0);
    const pauses = [1, 2, 3, 4, 5, 6, 7].map(() => {
      pause.refused(undefined);
      const left = pause.leftMs();
      // Concurrent failures do not increase the pause.
      pause.refused(undefined);
      time += left;
      return left;
    });
    expect(pauses).toEqual([500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000]);
    pause.accepted();
    pause.refused(undefined);
    expect(pause.leftMs()).toBe(500);
  });

  it('lasts at least as long as Retry-After and at most a minute', () => {
    pause.refused(3);
    expect(pause.leftMs()).toBe(3_500);
    time += 3_500;
    pause.refused(3_600);
    expect(pause.leftMs()).toBe(60_000);
  });

  it('blocks all writes and no reads, and only after a 429', async () => {
    const calls: string[] = [];
    let status: number | undefined;
    const call = (name: string) => async (): Promise<never> => {
      calls.push(name);
      if (status !== undefined) throw new KubeError(status, { message: 'no' });
      return undefined as never;
    };
    const names = ['get', 'create', 'apply', 'mergePatch', 'jsonPatch', 'replace', 'delete'] as const;
    const client = withPause(
      Object.fromEntries(names.map((name) => [name, call(name)])) as unknown as SyncClient,
      pause,
    );
    const object = { apiVersion: 'v1', kind: 'Service', metadata: { name: 's' } };
    const all = [
      () => client.create(USERSWARMS, object),
      () => client.apply(USERSWARMS, object),
      () => client.mergePatch(USERSWARMS, object.metadata, {}),
      () => client.jsonPatch(USERSWARMS, object.metadata, []),
      () => client.replace(USERSWARMS, object),
      () => client.delete(USERSWARMS, object.metadata, { uid: 'u', propagation: 'Background' }),
    ];
    status = 503;
    await expect(all[0]!()).rejects.toMatchObject({ status });
    expect(pause.leftMs()).toBe(0);
    status = 429;
    await expect(all[0]!()).rejects.toMatchObject({ status });
    calls.length = 0;
    for (const write of all) await expect(write()).rejects.toMatchObject({ status: 429, retryAfter: 0.5 });
    expect(calls).toEqual([]);
    status = undefined;
    await client.get(USERSWARMS, object.metadata);
    time += 500;
    for (const write of all) await write();
    expect(calls).toEqual(names);
  });
});
