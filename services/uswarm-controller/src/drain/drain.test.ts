import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { KEEP_LABEL } from '@uswarm/contract/userswarm';
import { createCredentials, createKubeClient, type Credentials, type KubernetesObject } from '@uswarm/kube-client';
import { systemClock } from '@uswarm/service-kit';
import { eventually } from '@uswarm/testkit/eventually';
import { type ScriptedApi, startScriptedApi } from '@uswarm/testkit/scripted-api';
import { FINALIZER } from '../sync/finalizer.js';
import { drain, type DrainDeps } from './drain.js';
import { finish } from './finish.js';
import { createDrainFlag, type DrainFlag } from './drain-flag.js';

const USER_SWARMS = '/apis/uswarm.dev/v1alpha1/userswarms';
const FLAGS = '/api/v1/namespaces/backend/configmaps';
const NAMESPACES = '/api/v1/namespaces';
const DEPLOYMENTS = '/apis/apps/v1/namespaces/userswarms/deployments';
const SERVICES = '/api/v1/namespaces/userswarms/services';
const METACONTROLLER = 'metacontroller.io/compositecontroller-userswarm-controller';
const flag = { namespace: 'backend', name: 'uswarm-drain' };

let server: ScriptedApi;
let credentials: Credentials;
let printed: string[];
let stopping: AbortController;
let workers: NodeJS.Timeout[];

beforeEach(async () => {
  server = await startScriptedApi();
  credentials = await createCredentials(server.config);
  printed = [];
  workers = [];
  stopping = new AbortController();
});
afterEach(async () => {
  for (const worker of workers) clearInterval(worker);
  await credentials.close();
  await server.close();
});

function addUserSwarm(name: string, metadata: object = {}): KubernetesObject {
  return server.put(USER_SWARMS, {
    apiVersion: 'uswarm.dev/v1alpha1',
    kind: 'UserSwarm',
    metadata: { name, uid: `uid-${name}`, finalizers: [FINALIZER], ...metadata },
    spec: { userId: 'u', placement: { runtimeNamespace: 'userswarms' } },
  });
}
function addChild(collection: string, kind: string, owner: string): void {
  const ownerReferences = [
    { apiVersion: 'uswarm.dev/v1alpha1', kind: 'UserSwarm', name: owner, uid: `uid-${owner}`, controller: true },
  ];
  const metadata = { name: `agent-runtime-${owner}`, namespace: 'userswarms', ownerReferences };
  server.put(collection, { apiVersion: 'v1', kind, metadata });
}
/** Makes admission reject the deletion of this object by any client. */
function refuseDeletion(path: string, afterMs = 0): void {
  const refusal = JSON.stringify({ kind: 'Status', code: 403, message: 'not allowed' });
  server.script(({ method, path: requested }, response) => {
    if (method !== 'DELETE' || requested !== path) return undefined;
    setTimeout(() => response.writeHead(403).end(refusal), afterMs);
    return true;
  });
}
const userSwarms = (): string[] => ['a', 'b', 'c'].filter((name) => server.get(USER_SWARMS, name) !== undefined);
const every = (work: () => void): void => void workers.push(setInterval(work, 5));

/** Removes the finalizers from terminating UserSwarms, as the controller does. */
const startController = (): void =>
  every(() => {
    for (const name of userSwarms()) {
      const userSwarm = server.get(USER_SWARMS, name)!;
      if (userSwarm.metadata.deletionTimestamp === undefined) continue;
      server.put(USER_SWARMS, { ...userSwarm, metadata: { ...userSwarm.metadata, finalizers: [] } });
    }
  });
/** Completes foreground deletions, as the garbage collector does when the dependents are deleted. */
const startGarbageCollector = (): void =>
  every(() => {
    for (const name of ['a', 'b', 'c']) {
      const found = server.get(DEPLOYMENTS, `agent-runtime-${name}`);
      if (found?.metadata.finalizers?.includes('foregroundDeletion')) server.remove(DEPLOYMENTS, found.metadata.name);
    }
  });

const client = () => createKubeClient({ credentials, fieldManager: 'test' });
const flagOf = (job: string): DrainFlag =>
  createDrainFlag({ client: client(), place: flag, run: job, clock: systemClock });
const guardOf = ({ raise: begin, hold: check }: DrainFlag) => ({ begin, check });
const run = (options: Partial<DrainDeps> = {}): Promise<void> =>
  drain(
    {
      client: client(),
      guard: guardOf(flagOf('job')),
      runtimeNamespaces: ['userswarms'],
      graceMs: 60_000,
      timeoutMs: 60_000,
      everyMs: 5,
      settleMs: 30,
      print: (line) => printed.push(line),
      ...options,
    },
    stopping.signal,
  );
/** All writes except to the drain flag. */
const writes = (): string[] =>
  server
    .writes()
    .filter(({ path }) => !path.startsWith(FLAGS))
    .map(({ method, path }) => `${method} ${path}`);

describe('a drain', () => {
  it('deletes every UserSwarm and leaves the rest to the controller', async () => {
    startController();
    addUserSwarm('a');
    addUserSwarm('b', { labels: { 'app.kubernetes.io/managed-by': 'uswarm-orchestrator' } });
    await run();
    expect(userSwarms()).toEqual([]);
    expect(writes().toSorted()).toEqual([`DELETE ${USER_SWARMS}/a`, `DELETE ${USER_SWARMS}/b`]);
    expect(printed[0]).toBe('2 UserSwarms remaining.');
    expect(printed.at(-1)).toMatch(/^2 UserSwarms deleted with all children after \d+ s\.$/);
  });

  it('succeeds without UserSwarms or without the CRD', async () => {
    await run();
    server.script(({ path }, response) => {
      if (path !== USER_SWARMS) return undefined;
      response.writeHead(404).end(JSON.stringify({ kind: 'Status', code: 404, reason: 'NotFound' }));
      return true;
    });
    await run();
    expect(writes()).toEqual([]);
    expect(printed).toEqual(Array(2).fill('No UserSwarms found.'));
  });

  it('keeps UserSwarms with the keep label and prints their names', async () => {
    startController();
    addUserSwarm('a');
    addUserSwarm('b', { labels: { [KEEP_LABEL]: 'true' } });
    addUserSwarm('c', { labels: { [KEEP_LABEL]: 'false' } });
    await run();
    expect(userSwarms()).toEqual(['b']);
    expect(server.get(USER_SWARMS, 'b')?.metadata).toMatchObject({ finalizers: [FINALIZER] });
    expect(printed[0]).toBe('Kept because of the label uswarm.dev/keep-on-uninstall=true: b');
  });

  it('deletes a UserSwarm that is created during the settle time', async () => {
    startController();
    addUserSwarm('a');
    const running = run({ settleMs: 1_000 });
    await eventually(() => userSwarms().length === 0);
    addUserSwarm('b');
    await running;
    expect(userSwarms()).toEqual([]);
  });

  it('finalizes for a controller that is down: children first, Deployments with their pods, then the finalizer', async () => {
    startGarbageCollector();
    for (const name of ['a', 'b']) {
      addUserSwarm(name, name === 'b' ? { finalizers: [METACONTROLLER] } : {});
      addChild(DEPLOYMENTS, 'Deployment', name);
      addChild(SERVICES, 'Service', name);
    }
    addChild(SERVICES, 'Service', 'c');
    await run({ graceMs: 20 });
    expect(userSwarms()).toEqual([]);
    // It is owned by another UserSwarm.
    expect(server.get(SERVICES, 'agent-runtime-c')).toBeDefined();
    const ofA = writes().filter((write) => write.endsWith('a'));
    expect(ofA).toEqual([
      `DELETE ${USER_SWARMS}/a`,
      `DELETE ${SERVICES}/agent-runtime-a`,
      `DELETE ${DEPLOYMENTS}/agent-runtime-a`,
      `PATCH ${USER_SWARMS}/a`,
    ]);
    const propagations = server.writes().map(({ path, body }) => [path, body['propagationPolicy']]);
    expect(Object.fromEntries(propagations.filter(([path]) => String(path).includes('agent-runtime-a')))).toEqual({
      [`${SERVICES}/agent-runtime-a`]: 'Background',
      [`${DEPLOYMENTS}/agent-runtime-a`]: 'Foreground',
    });
    expect(printed).toContainEqual(expect.stringMatching(/the controller or its webhook is down/));
  });

  it.each([
    ['UserSwarm', `${USER_SWARMS}/a`],
    ['child', `${SERVICES}/agent-runtime-a`],
  ])('finalizes all others when the deletion of one %s is refused', async (_what, refused) => {
    refuseDeletion(refused);
    for (const name of ['a', 'b', 'c']) addUserSwarm(name);
    addChild(SERVICES, 'Service', 'a');
    addChild(SERVICES, 'Service', 'b');
    const running = run({ graceMs: 20 });
    await eventually(() => userSwarms().join() === 'a');
    expect(server.get(USER_SWARMS, 'a')?.metadata.finalizers).toEqual([FINALIZER]);
    expect(printed.filter((line) => line.includes('not allowed'))).toHaveLength(1);
    stopping.abort(new Error('killed'));
    await expect(running).rejects.toThrow();
  });

  it('does not interfere with a controller that makes progress', async () => {
    for (const name of ['a', 'b', 'c']) addUserSwarm(name);
    let now = 0;
    const running = run({ graceMs: 250, settleMs: 30, elapsed: () => now });
    const lists = (): number =>
      server.requests.filter(({ method, path }) => method === 'GET' && path === USER_SWARMS).length;
    for (const name of ['a', 'b', 'c']) {
      await eventually(() => server.get(USER_SWARMS, name)?.metadata.deletionTimestamp !== undefined);
      now += 150;
      server.remove(USER_SWARMS, name);
      const before = lists();
      await eventually(() => lists() >= before + 2);
    }
    now += 30;
    await running;
    expect(writes().filter((write) => write.startsWith('PATCH'))).toEqual([]);
  });

  it('finds no children in a deleted namespace, for which it gets 403', async () => {
    addUserSwarm('a');
    server.script(({ path }, response) => {
      if (!path.startsWith(`${NAMESPACES}/userswarms`) && !path.startsWith(DEPLOYMENTS)) return undefined;
      const status = path === `${NAMESPACES}/userswarms` ? 404 : 403;
      response.writeHead(status).end(JSON.stringify({ kind: 'Status', code: status }));
      return true;
    });
    await run({ graceMs: 0 });
    expect(userSwarms()).toEqual([]);
  });

  it('continues a drain that was killed', async () => {
    for (const name of ['a', 'b', 'c']) addUserSwarm(name);
    const first = run();
    await eventually(() => writes().length === 3);
    stopping.abort(new Error('killed'));
    await expect(first).rejects.toThrow();
    server.remove(USER_SWARMS, 'b');
    stopping = new AbortController();
    startController();
    await run();
    expect(userSwarms()).toEqual([]);
    // The second drain deletes no UserSwarm again.
    expect(writes().filter((write) => write.startsWith('DELETE'))).toHaveLength(3);
  });

  it('retries after errors of the API server and prints each once', async () => {
    startController();
    addUserSwarm('a');
    let faults = 4;
    server.script(({ method, path }, response) => {
      if (method !== 'GET' || path !== USER_SWARMS || faults === 0) return undefined;
      faults -= 1;
      response.writeHead(500).end(JSON.stringify({ kind: 'Status', code: 500, message: 'etcd is unavailable' }));
      return true;
    });
    await run();
    expect(userSwarms()).toEqual([]);
    expect(printed.filter((line) => line.includes('etcd is unavailable'))).toHaveLength(1);
  });
});

describe('a drain that exceeds its timeout', () => {
  it('removes our finalizers and prints the remaining objects', async () => {
    addUserSwarm('a');
    addChild(DEPLOYMENTS, 'Deployment', 'a');
    await run({ graceMs: 0, timeoutMs: 50 });
    expect(userSwarms()).toEqual([]);
    expect(printed).toContainEqual(expect.stringContaining('is removed before its children'));
    expect(printed).toContainEqual(expect.stringContaining('Deployment userswarms/agent-runtime-a'));
  });

  it('keeps foreign finalizers and prints them', async () => {
    addUserSwarm('a', { finalizers: [FINALIZER, 'example.com/backup'] });
    await run({ timeoutMs: 50 });
    expect(server.get(USER_SWARMS, 'a')?.metadata.finalizers).toEqual(['example.com/backup']);
    expect(printed).toContainEqual('  a is blocked by the finalizers of other controllers: example.com/backup');
  });

  it('fails if a UserSwarm cannot be deleted', async () => {
    addUserSwarm('a');
    refuseDeletion(`${USER_SWARMS}/a`);
    await expect(run({ timeoutMs: 50 })).rejects.toThrow(/^timeout exceeded: not allowed/);
  });

  it.each([
    ['immediately', 0],
    ['after the timeout', 100],
  ])('finalizes terminating UserSwarms if the deletion of another one is refused %s', async (_when, afterMs) => {
    for (const name of ['a', 'b', 'c']) addUserSwarm(name);
    refuseDeletion(`${USER_SWARMS}/a`, afterMs);
    await expect(run({ timeoutMs: 50 })).rejects.toThrow(/^timeout exceeded: not allowed/);
    expect(userSwarms()).toEqual(['a']);
    // It was not deleted, so it keeps its finalizer.
    expect(server.get(USER_SWARMS, 'a')?.metadata.finalizers).toEqual([FINALIZER]);
  });

  it('makes one attempt if it restarts after its timeout', async () => {
    const data = { run: 'job', startedAt: new Date(Date.now() - 3_600_000).toISOString(), expiresAt: '' };
    server.put(FLAGS, { apiVersion: 'v1', kind: 'ConfigMap', metadata: flag, data });
    startController();
    addUserSwarm('a');
    await run({ timeoutMs: 3_000_000 });
    expect(printed).not.toContainEqual(expect.stringContaining('Timeout exceeded'));
    expect(userSwarms()).toEqual([]);
  });
});

it('stops when its flag is deleted, because the release stays installed', async () => {
  for (const name of ['a', 'b']) addUserSwarm(name);
  const running = run();
  await eventually(() => writes().length === 2);
  server.remove(FLAGS, flag.name);
  await expect(running).rejects.toThrow(/ConfigMap backend\/uswarm-drain was deleted/);
  // The drain has stopped, so it does not delete a new UserSwarm.
  addUserSwarm('c');
  expect(server.get(USER_SWARMS, 'c')?.metadata.deletionTimestamp).toBeUndefined();
});

describe('the finish step of an uninstall', () => {
  const end = (): Promise<void> =>
    finish({ client: client(), timeoutMs: 60_000, everyMs: 5, print: (line) => printed.push(line) }, stopping.signal);

  it('removes the finalizers of kept UserSwarms and deletes late ones', async () => {
    addUserSwarm('a', {
      labels: { [KEEP_LABEL]: 'true' },
      finalizers: [FINALIZER, METACONTROLLER, 'example.com/backup'],
    });
    addUserSwarm('b');
    await end();
    expect(userSwarms()).toEqual(['a']);
    const { finalizers, deletionTimestamp } = server.get(USER_SWARMS, 'a')!.metadata;
    expect({ finalizers, deletionTimestamp }).toEqual({
      finalizers: ['example.com/backup'],
      deletionTimestamp: undefined,
    });
    expect(printed).toEqual(['a: kept', 'No UserSwarm has a uswarm finalizer.']);
  });

  it('removes the finalizers of kept UserSwarms even if a late one cannot be deleted', async () => {
    addUserSwarm('a', { labels: { [KEEP_LABEL]: 'true' } });
    addUserSwarm('b', { finalizers: [] });
    refuseDeletion(`${USER_SWARMS}/b`);
    await expect(
      finish({ client: client(), timeoutMs: 30, everyMs: 5, print: () => {} }, stopping.signal),
    ).rejects.toThrow(/^not finished: not allowed/);
    expect(server.get(USER_SWARMS, 'a')?.metadata.finalizers).toEqual([]);
  });

  it('writes nothing if no UserSwarm has our finalizer', async () => {
    addUserSwarm('a', { finalizers: [], labels: { [KEEP_LABEL]: 'true' } });
    await end();
    expect(writes()).toEqual([]);
  });

  it('fails if a finalizer cannot be removed', async () => {
    addUserSwarm('a', { labels: { [KEEP_LABEL]: 'true' } });
    server.script(({ method }, response) => {
      if (method !== 'PATCH') return undefined;
      response.writeHead(403).end(JSON.stringify({ kind: 'Status', code: 403, message: 'not allowed' }));
      return true;
    });
    await expect(
      finish({ client: client(), timeoutMs: 30, everyMs: 5, print: () => {} }, stopping.signal),
    ).rejects.toThrow(/^not finished: not allowed/);
  });
});
