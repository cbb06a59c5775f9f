import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import type { KubernetesObject } from '@uswarm/kube-client';
import { eventually } from '@uswarm/testkit/eventually';
import { programFile } from '@uswarm/testkit/program-file';
import { type ScriptedApi, startScriptedApi } from '@uswarm/testkit/scripted-api';

const MAIN = programFile('services/uswarm-controller/dist/main.js');
const LEASES = '/apis/coordination.k8s.io/v1/namespaces/backend/leases';
const NAME = 'uswarm-controller';

let api: ScriptedApi;
let folder: string;
let replicas: ChildProcess[];
beforeEach(async () => {
  api = await startScriptedApi();
  folder = await mkdtemp(join(tmpdir(), 'uswarm-controller-'));
  await writeFile(join(folder, 'kubeconfig'), api.config.exportConfig());
  replicas = [];
});
afterEach(async () => {
  for (const replica of replicas) replica.kill('SIGKILL');
  await api.close();
  await rm(folder, { recursive: true });
});

function start(name: string): ChildProcess {
  const replica = spawn(process.execPath, [MAIN], {
    env: {
      KUBECONFIG: join(folder, 'kubeconfig'),
      SYNC_URL: 'http://127.0.0.1:1/sync',
      SYNC_TOKEN: 'token-'.repeat(8),
      RUNTIME_NAMESPACES: 'userswarms',
      LEASE_NAMESPACE: 'backend',
      LEASE_NAME: NAME,
      POD_NAME: name,
      OPS_PORT: '0',
    },
    stdio: 'ignore',
  });
  replicas.push(replica);
  return replica;
}

/** Milliseconds for a process that starts beside others. */
const STARTED_WITHIN_MS = 60_000;

/** Who held the lease, one after another; '' where it was given back. */
const holders = (): string[] =>
  api.requests
    .filter(({ method, path }) => method !== 'GET' && path.startsWith(LEASES))
    .map(({ body }) => (body['spec'] as { holderIdentity: string }).holderIdentity)
    .filter((holder, index, all) => holder !== all[index - 1]);

it('releases the lease on SIGTERM although the API server is slow and fails at first', async () => {
  const first = start('first');
  await eventually(() => holders().length === 1, { timeoutMs: STARTED_WITHIN_MS });
  let attempts = 0;
  const pending: NodeJS.Timeout[] = [];
  api.script((request, response) => {
    const releases = (request.body['spec'] as { holderIdentity?: string } | undefined)?.holderIdentity === '';
    if (request.method !== 'PUT' || !releases) return undefined;
    attempts += 1;
    if (attempts === 1) {
      response.writeHead(500).end('{"code":500,"reason":"InternalError"}');
      return true;
    }
    if (attempts > 2) return undefined;
    // Slower than a renewal may be.
    const answer = (): void => {
      const { name } = (request.body as unknown as KubernetesObject).metadata;
      const stored = api.put(LEASES, { ...api.get(LEASES, name)!, spec: request.body['spec'] });
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(stored));
    };
    pending.push(setTimeout(answer, 3_000));
    return true;
  });
  const exit = once(first, 'exit');
  first.kill('SIGTERM');
  expect(await exit).toEqual([0, null]);
  for (const timer of pending) clearTimeout(timer);
  expect(api.get(LEASES, NAME)?.['spec']).toMatchObject({ holderIdentity: '' });
});

it('hands over on SIGTERM without waiting for the expiry of the lease', async () => {
  const first = start('first');
  await eventually(() => holders().length === 1, { timeoutMs: STARTED_WITHIN_MS });
  // Only who does not hold the lease has to read it.
  const reads = (): number =>
    api.requests.filter(({ method, path }) => method === 'GET' && path === `${LEASES}/${NAME}`).length;
  const before = reads();
  const second = start('second');
  await eventually(() => reads() > before, { timeoutMs: STARTED_WITHIN_MS });
  const exit = once(first, 'exit');
  first.kill('SIGTERM');
  expect(await exit).toEqual([0, null]);
  await eventually(() => holders().at(-1) === 'second', { timeoutMs: STARTED_WITHIN_MS });
  expect(holders()).toEqual(['first', '', 'second']);
  expect(second.exitCode).toBeNull();
});
