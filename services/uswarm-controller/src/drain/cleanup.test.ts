import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { KEEP_LABEL } from '@uswarm/contract/userswarm';
import { createCredentials, createKubeClient, type Credentials } from '@uswarm/kube-client';
import { eventually } from '@uswarm/testkit/eventually';
import { type ScriptedApi, startScriptedApi } from '@uswarm/testkit/scripted-api';
import { FINALIZER } from '../sync/finalizer.js';
import { cleanUp, type CleanupDeps } from './cleanup.js';
import { createReleaseGuard } from './release-guard.js';

const USER_SWARMS = '/apis/uswarm.dev/v1alpha1/userswarms';
const DEPLOYMENTS = '/apis/apps/v1/namespaces/backend/deployments';
const LEASES = '/apis/coordination.k8s.io/v1/namespaces/backend/leases';
const SERVICES = '/api/v1/namespaces/backend/services';

let server: ScriptedApi;
let credentials: Credentials;
let printed: string[];
let stopping: AbortController;
let collector: NodeJS.Timeout | undefined;
beforeEach(async () => {
  server = await startScriptedApi();
  credentials = await createCredentials(server.config);
  printed = [];
  stopping = new AbortController();
});
afterEach(async () => {
  clearInterval(collector);
  await credentials.close();
  await server.close();
});

const addUserSwarm = (name: string, metadata: object = {}): void =>
  void server.put(USER_SWARMS, {
    apiVersion: 'uswarm.dev/v1alpha1',
    kind: 'UserSwarm',
    metadata: { name, uid: `uid-${name}`, finalizers: [FINALIZER], ...metadata },
  });
const addToRelease = (collection: string, name: string): void =>
  void server.put(collection, { apiVersion: 'v1', kind: 'Any', metadata: { name, namespace: 'backend' } });
const userSwarms = (): string[] => ['a', 'b'].filter((name) => server.get(USER_SWARMS, name) !== undefined);
/** Removes foregroundDeletion, as Kubernetes does when the children are deleted. */
const startGarbageCollector = (): void => {
  collector = setInterval(() => {
    for (const name of userSwarms()) {
      const userSwarm = server.get(USER_SWARMS, name)!;
      const finalizers = userSwarm.metadata.finalizers?.filter((each) => each !== 'foregroundDeletion') ?? [];
      if (userSwarm.metadata.deletionTimestamp === undefined) continue;
      server.put(USER_SWARMS, { ...userSwarm, metadata: { ...userSwarm.metadata, finalizers } });
    }
  }, 5);
};
const run = (options: Partial<CleanupDeps> = {}): Promise<void> => {
  const client = createKubeClient({ credentials, fieldManager: 'test' });
  const guard = createReleaseGuard({
    client,
    namespace: 'backend',
    components: ['uswarm-orchestrator', 'uswarm-webhook'],
  });
  const print = (line: string): void => void printed.push(line);
  return cleanUp(
    { client, guard, timeoutMs: 60_000, everyMs: 5, settleMs: 20, goneMs: 20, print, ...options },
    stopping.signal,
  );
};

describe('the cleanup after a release that was removed without Helm', () => {
  it('deletes every UserSwarm without a controller, and waits for the garbage collector', async () => {
    startGarbageCollector();
    addUserSwarm('a');
    addUserSwarm('b', { finalizers: ['metacontroller.io/compositecontroller-userswarm-controller'] });
    await run();
    expect(userSwarms()).toEqual([]);
    const deletions = server.writes().filter(({ method }) => method === 'DELETE');
    expect(deletions.map(({ path, body }) => [path, body['propagationPolicy']])).toEqual([
      [`${USER_SWARMS}/a`, 'Foreground'],
      [`${USER_SWARMS}/b`, 'Foreground'],
    ]);
    expect(printed.at(-1)).toBe('No UserSwarm has a uswarm finalizer.');
  });

  it('deletes the Lease of the controller, so that the next release starts immediately', async () => {
    addToRelease(LEASES, 'uswarm-controller');
    await run({ lease: { namespace: 'backend', name: 'uswarm-controller' } });
    expect(server.get(LEASES, 'uswarm-controller')).toBeUndefined();
  });

  it('keeps a UserSwarm with the keep label and removes its finalizer', async () => {
    addUserSwarm('a', { labels: { [KEEP_LABEL]: 'true' } });
    await run();
    expect(server.get(USER_SWARMS, 'a')?.metadata).toMatchObject({ finalizers: [] });
    expect(server.get(USER_SWARMS, 'a')?.metadata.deletionTimestamp).toBeUndefined();
  });

  it('removes the finalizers when the timeout is exceeded before the pods are deleted', async () => {
    addUserSwarm('a');
    await run({ timeoutMs: 50 });
    expect(userSwarms()).toEqual([]);
  });

  it.each([
    ['Deployment', DEPLOYMENTS, 'uswarm-webhook'],
    ['Service', SERVICES, 'uswarm-orchestrator'],
  ])('does nothing while a %s of the release exists, as after kubectl apply', async (kind, collection, name) => {
    addToRelease(collection, name);
    addUserSwarm('a');
    await run();
    expect(server.writes()).toEqual([]);
    expect(printed).toEqual([`Nothing was removed: ${kind} backend/${name} exists, so uswarm is installed.`]);
  });

  it('does nothing if the release appears only after the Job, as in an apply in another order', async () => {
    addUserSwarm('a');
    const running = run({ goneMs: 60_000 });
    const checked = (): boolean => server.requests.some(({ path }) => path.startsWith(DEPLOYMENTS));
    await eventually(checked);
    addToRelease(DEPLOYMENTS, 'uswarm-orchestrator');
    await running;
    expect(server.writes()).toEqual([]);
  });

  it('stops deleting when the release is installed again', async () => {
    addUserSwarm('a');
    const running = run();
    await eventually(() => server.get(USER_SWARMS, 'a')?.metadata.deletionTimestamp !== undefined);
    addToRelease(SERVICES, 'uswarm-orchestrator');
    await running;
    expect(printed.at(-1)).toMatch(/^Nothing was removed: Service backend\/uswarm-orchestrator exists/);
  });

  it('retries until its RBAC rules are created', async () => {
    startGarbageCollector();
    addUserSwarm('a');
    let refusals = 3;
    server.script(({ path }, response) => {
      if (!path.startsWith(DEPLOYMENTS) || refusals === 0) return undefined;
      refusals -= 1;
      response.writeHead(403).end(JSON.stringify({ kind: 'Status', code: 403, message: 'no rights yet' }));
      return true;
    });
    await run();
    expect(userSwarms()).toEqual([]);
    expect(printed[0]).toBe('Retrying after a failure: no rights yet');
  });
});
