import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createCredentials, createKubeClient, type Credentials, type KubeClient } from '@uswarm/kube-client';
import { systemClock } from '@uswarm/service-kit';
import { type ScriptedApi, startScriptedApi } from '@uswarm/testkit/scripted-api';
import { createLease, type Lease } from '../leader/lease.js';
import { finish } from './finish.js';

const LEASES = '/apis/coordination.k8s.io/v1/namespaces/backend/leases';
const lease = { namespace: 'backend', name: 'uswarm-controller' };
const never = new AbortController().signal;

describe('the last step of an uninstall', () => {
  let api: ScriptedApi;
  let credentials: Credentials;
  let client: KubeClient;
  let printed: string[];

  beforeEach(async () => {
    api = await startScriptedApi();
    credentials = await createCredentials(api.config);
    client = createKubeClient({ credentials, fieldManager: 'test' });
    printed = [];
  });
  afterEach(async () => {
    await credentials.close();
    await api.close();
  });

  const controller = (identity: string): Lease =>
    createLease({ client, ...lease, identity, durationS: 15, clock: systemClock });
  const finishes = (): Promise<void> =>
    finish({ client, lease, timeoutMs: 60_000, everyMs: 5, print: (line) => printed.push(line) }, never);

  it('deletes the Lease that a killed controller still holds, so that the next installation leads immediately', async () => {
    await controller('killed').tryAcquireOrRenew(never);
    expect(await controller('next').tryAcquireOrRenew(never)).toBe(false);
    await finishes();
    expect(api.get(LEASES, lease.name)).toBeUndefined();
    expect(await controller('next').tryAcquireOrRenew(never)).toBe(true);
  });

  it('succeeds without the Lease', async () => {
    await finishes();
    expect(printed).toEqual(['No UserSwarm has a uswarm finalizer.']);
  });

  it('continues and prints a warning if the Lease cannot be deleted', async () => {
    await controller('killed').tryAcquireOrRenew(never);
    api.script(({ method, path }, response) => {
      if (method !== 'DELETE' || !path.startsWith(LEASES)) return undefined;
      response.writeHead(403).end('{"code":403,"reason":"Forbidden","message":"not allowed"}');
      return true;
    });
    await finishes();
    expect(printed).toEqual([
      'The Lease of the controller was not deleted and will expire: not allowed',
      'No UserSwarm has a uswarm finalizer.',
    ]);
  });
});
