import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { LABEL, userSwarmName } from '@uswarm/contract/userswarm';
import {
  IDLE_SUSPEND_AFTER_S,
  type Kinds,
  NAMESPACE,
  openSession,
  type Session,
  shows,
  watchObjects,
} from '../support/index.js';
import { signUp } from '../support/sign-up.js';
import { timingTable, togetherTable, type Timings, type WakeTimings, wakeTable } from '../support/timing-table.js';

const ROUNDS = 10;
/** Created and deleted together, in pairs of rounds. */
const TOGETHER = 20;
const PAIRS = 5;
const TOGETHER_LIMIT_MS = 180_000;
/** Between rounds: the cluster still removes what belonged to the deleted pods. */
const SETTLE_MS = 5_000;
/** Suspended runtimes that a message wakes, in turn. */
const WAKES = 10;

let session: Session;
beforeAll(async () => {
  session = await openSession();
});
afterAll(() => session?.close());

type Pods = Awaited<ReturnType<typeof watchPods>>;
const watchPods = () => watchObjects(session.api, 'Pod', { namespace: NAMESPACE.runtime });

/** Resolves with the time at which the last of these pods was deleted. */
function untilPodsAreDeleted(pods: Pods, names: readonly string[]): Promise<number> {
  return new Promise((resolve) => {
    const check = (): void => {
      const owners = pods
        .all()
        .flatMap(({ metadata }) => [metadata?.labels?.[LABEL.instance], metadata?.labels?.[LABEL.name]]);
      if (!names.some((name) => owners.includes(name))) resolve(Date.now());
    };
    pods.onChange(check);
    check();
  });
}

/** Milliseconds to create and to delete a UserSwarm, from request to watch event. */
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

/** The same durations for a Deployment with a UserSwarm's pod, deleted as `kubectl delete` does, until the pod is deleted. */
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
  const pods = await watchPods();
  try {
    const key = `${NAMESPACE.runtime}/${name}`;
    const ready = await watch.until(key, 'ready', (object) => (object?.status?.readyReplicas ?? 0) >= 1, 60_000);
    await pause();
    const deleted = Date.now();
    await session.api.delete('Deployment', place);
    const gone = await untilPodsAreDeleted(pods, [name]);
    return { ready: ready.at - created, gone: gone - deleted };
  } finally {
    watch.stop();
    pods.stop();
  }
}

/** A random delay, to decouple the rounds from the kubelet's period. */
const pause = (): Promise<void> => sleep(Math.random() * 1000);

it('reports the durations of a UserSwarm and of a Deployment with the same pod', async () => {
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

/** Milliseconds until the last UserSwarm was Ready, and until the last of their pods was deleted. */
async function liveTogetherAsUserSwarms(pods: Pods): Promise<{ ready: number; gone: number }> {
  const names = Array.from({ length: TOGETHER }, () => session.newName());
  const { swarms } = session;
  const created = Date.now();
  await Promise.all(names.map((name) => session.create({}, name)));
  const ready = await Promise.all(names.map((name) => swarms.until(name, 'Ready', shows('Ready'), TOGETHER_LIMIT_MS)));
  await pause();
  const deleted = Date.now();
  await Promise.all(names.map((name) => session.api.delete('UserSwarm', { name })));
  const gone = await untilPodsAreDeleted(pods, names);
  await Promise.all(names.map((name) => session.deleted(name)));
  return { ready: Math.max(...ready.map(({ at }) => at)) - created, gone: gone - deleted };
}

/** The same durations for Deployments with UserSwarm pods, deleted as `kubectl delete` does. */
async function liveTogetherAsDeployments(
  pods: Pods,
  model: Kinds['Deployment'],
): Promise<{ ready: number; gone: number }> {
  const names = Array.from({ length: TOGETHER }, () => session.newName().replace('workspace-', 'bare-'));
  const watch = await watchObjects(session.api, 'Deployment', { namespace: NAMESPACE.runtime });
  try {
    const places = names.map((name) => ({ name, namespace: NAMESPACE.runtime }));
    const created = Date.now();
    await Promise.all(
      places.map((metadata) => {
        const labels = { [LABEL.name]: metadata.name };
        const template = { ...model.spec!.template, metadata: { labels } };
        session.onClose(() => session.api.delete('Deployment', metadata));
        const spec = { ...model.spec!, selector: { matchLabels: labels }, template };
        return session.api.create('Deployment', { metadata, spec });
      }),
    );
    const ready = await Promise.all(
      names.map((name) =>
        watch.until(
          `${NAMESPACE.runtime}/${name}`,
          'ready',
          (object) => (object?.status?.readyReplicas ?? 0) >= 1,
          TOGETHER_LIMIT_MS,
        ),
      ),
    );
    await pause();
    const deleted = Date.now();
    await Promise.all(places.map((place) => session.api.delete('Deployment', place)));
    const gone = await untilPodsAreDeleted(pods, names);
    return { ready: Math.max(...ready.map(({ at }) => at)) - created, gone: gone - deleted };
  } finally {
    watch.stop();
  }
}

it(`writes down how long ${TOGETHER} UserSwarms take together beside as many bare Deployments of the same pod`, async () => {
  const sample = await session.create();
  await session.ready(sample);
  const { deployment } = await session.children(sample);
  // It receives UserSwarm pods, but not the bare ones.
  session.pods.stop();
  const pods = await watchPods();
  const timings: Timings = { userSwarm: [], deployment: [] };
  try {
    for (let pair = 0; pair < PAIRS; pair += 1) {
      await sleep(SETTLE_MS);
      timings.userSwarm.push(await liveTogetherAsUserSwarms(pods));
      await sleep(SETTLE_MS);
      timings.deployment.push(await liveTogetherAsDeployments(pods, deployment!));
    }
  } finally {
    pods.stop();
  }
  const table = togetherTable(TOGETHER, timings);
  console.log(table);
  await mkdir(session.settings.artifacts, { recursive: true });
  await writeFile(path.join(session.settings.artifacts, 'timing-together.txt'), `${table}\n`);
  expect(timings.userSwarm).toHaveLength(PAIRS);
});

type TestClient = Awaited<ReturnType<typeof signUp>>;

interface Wake {
  /** From sending a message to a suspended runtime until the first chunk of its answer. */
  ms: number;
  /** True if the UserSwarm was not Ready then. */
  early: boolean;
}

async function wake(mobile: TestClient): Promise<Wake> {
  const known = new Set(mobile.events);
  const sent = Date.now();
  const chunk = mobile
    .saw('message.chunk', (payload) => mobile.events.some((event) => event.payload === payload && !known.has(event)))
    .then(() => {
      const userSwarm = session.swarms.current(userSwarmName(mobile.workspaceId));
      return { ms: Date.now() - sent, early: !shows('Ready')(userSwarm) };
    });
  await mobile.send('Please repeat: awake');
  return chunk;
}

it('writes down how long a message takes to wake a runtime beside the start of a bare Deployment of the same pod', async () => {
  const mobiles: TestClient[] = [];
  for (let user = 0; user < WAKES; user += 1) mobiles.push(await signUp(session));
  const names = mobiles.map(({ workspaceId }) => userSwarmName(workspaceId));
  await Promise.all(names.map((name) => session.ready(name)));
  const { deployment } = await session.children(names[0]!);
  const suspendedWithin = (IDLE_SUSPEND_AFTER_S + 120) * 1000;
  await Promise.all(names.map((name) => session.shows(name, 'Suspended', 'Suspended', suspendedWithin)));
  const timings: WakeTimings = { wake: [], deployment: [] };
  let early = 0;
  for (const mobile of mobiles) {
    const woken = await wake(mobile);
    timings.wake.push(woken.ms);
    if (woken.early) early += 1;
    await pause();
    timings.deployment.push((await liveAsDeployment(deployment!)).ready);
    await pause();
  }
  const table = `${wakeTable(timings)}\n\nFirst chunks before the UserSwarm was Ready: ${early} of ${WAKES}`;
  console.log(table);
  await mkdir(session.settings.artifacts, { recursive: true });
  await writeFile(path.join(session.settings.artifacts, 'timing-wake.txt'), `${table}\n`);
  expect(early).toBeGreaterThan(0);
});
