import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { LABEL } from '@uswarm/contract/userswarm';
import { type Kinds, NAMESPACE, openSession, type Session, shows, watchObjects } from '../src/index.js';
import { timingTable, type Timings } from '../test/timing-table.js';

const ROUNDS = 10;

let session: Session;
beforeAll(async () => {
  session = await openSession();
});
afterAll(() => session?.close());

/** Milliseconds from the request until the watch showed it, for both ends of a UserSwarm's life. */
async function liveAsUserSwarm(): Promise<{ ready: number; gone: number }> {
  const name = session.newName();
  const created = Date.now();
  await session.create({}, name);
  const ready = await session.swarms.until(name, 'Ready', shows('Ready'), 60_000);
  await pause();
  const deleted = Date.now();
  await session.api.delete('UserSwarm', { name });
  const gone = await session.swarms.until(name, 'gone', (swarm) => swarm === undefined, 60_000);
  return { ready: ready.at - created, gone: gone.at - deleted };
}

/** The same for a Deployment with the very pod that a UserSwarm has. */
async function liveAsDeployment(model: Kinds['Deployment']): Promise<{ ready: number; gone: number }> {
  const name = session.newName().replace('workspace-', 'bare-');
  const labels = { [LABEL.name]: name };
  const template = { ...model.spec!.template, metadata: { labels } };
  const place = { name, namespace: NAMESPACE.runtime };
  const created = Date.now();
  const spec = { ...model.spec!, selector: { matchLabels: labels }, template };
  session.onClose(() => session.api.delete('Deployment', place));
  await session.api.create('Deployment', { metadata: place, spec });
  const watch = await watchObjects(session.api, 'Deployment', {
    namespace: NAMESPACE.runtime,
    fieldSelector: `metadata.name=${name}`,
  });
  try {
    const key = `${NAMESPACE.runtime}/${name}`;
    const ready = await watch.until(key, 'ready', (object) => (object?.status?.readyReplicas ?? 0) >= 1, 60_000);
    await pause();
    const deleted = Date.now();
    await session.api.delete('Deployment', place, 'Foreground');
    const gone = await watch.until(key, 'gone', (object) => object === undefined, 60_000);
    return { ready: ready.at - created, gone: gone.at - deleted };
  } finally {
    watch.stop();
  }
}

/** Without it both would fall into step with the kubelet's own beat. */
const pause = (): Promise<void> => sleep(Math.random() * 1000);

it('writes down how long a UserSwarm takes beside a bare Deployment of the same pod', async () => {
  const sample = await session.create();
  await session.ready(sample);
  const { deployment, serviceAccount } = await session.children(sample);
  expect(serviceAccount).toBeDefined();
  const timings: Timings = { userSwarm: [], deployment: [] };
  for (let round = 0; round < ROUNDS; round += 1) {
    timings.userSwarm.push(await liveAsUserSwarm());
    await pause();
    timings.deployment.push(await liveAsDeployment(deployment!));
    await pause();
  }
  const table = timingTable(timings);
  console.log(table);
  await mkdir(session.settings.artifacts, { recursive: true });
  await writeFile(path.join(session.settings.artifacts, 'timing.txt'), `${table}\n`);
  const { stdout } = await session.tools.kubectl(['get', 'uswarm', '-o', 'wide']);
  await writeFile(
    path.join(session.settings.artifacts, 'kubectl-get-uswarm.txt'),
    `$ kubectl get uswarm -o wide\n${stdout}`,
  );
  expect(timings.userSwarm).toHaveLength(ROUNDS);
});
