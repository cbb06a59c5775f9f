import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@uswarm/testkit/eventually';
import { type ContainerKiller, openContainerKiller } from '../support/container-killer.js';
import {
  conditionOf,
  messageOf,
  NAMESPACE,
  openSession,
  READY_WITHIN_MS,
  readyCondition,
  runningContainer,
  type Session,
  SHOWN_WITHIN_MS,
} from '../support/index.js';
import { answerWith, type RuntimeUser, runtimeUserOf, send } from '../support/rolling-swarms.js';
import { signUp } from '../support/sign-up.js';

/** Limit from the moment at which a runtime hangs until it is Ready again. */
const RESTARTED_WITHIN_MS = 45_000;

let session: Session;
let killer: ContainerKiller;
beforeAll(async () => {
  session = await openSession();
  killer = await openContainerKiller(session);
});
afterAll(() => session?.close());

async function readyRuntime(): Promise<string> {
  const name = await session.create();
  await session.ready(name);
  return name;
}

it('a runtime that hangs is named within 10 s, and Ready again within 45 s in the same pod', async () => {
  const name = await readyRuntime();
  const target = await runningContainer(session, name);
  const hung = Date.now();
  await killer.freeze(target);
  const lost = await session.shows(name, 'Progressing', 'ReadinessFailed', SHOWN_WITHIN_MS + 5_000);
  expect(messageOf(lost)).toMatch(/fails its readiness probe\. It was Ready until/);
  await session.shows(name, 'Ready', 'Available', RESTARTED_WITHIN_MS - (Date.now() - hung));
  expect((await runningContainer(session, name)).pod).toBe(target.pod);
});

it('a runtime that is killed three times is CrashLoopBackOff with its exit code, and Ready after the back-off', async () => {
  const name = await readyRuntime();
  for (let kill = 0; kill < 3; kill += 1) {
    // From the second restart on, the kubelet waits before the next one.
    const running = await eventually(() => runningContainer(session, name), {
      description: 'the runtime runs',
      timeoutMs: READY_WITHIN_MS,
    });
    const killed = await eventually(() => killer.kill(running), {
      description: 'the container runs',
      timeoutMs: READY_WITHIN_MS,
    });
    await killed.replaced();
  }
  const history = await session.swarms.until(
    name,
    'shows CrashLoopBackOff',
    (swarm) => swarm !== undefined && readyCondition(swarm)?.reason === 'CrashLoopBackOff',
    60_000,
  );
  expect(messageOf(history.object!)).toContain('exit code 137');
  await session.ready(name);
});

describe('a runtime that the orchestrator cannot reach although its pod is ready', () => {
  let user: RuntimeUser;
  const POLICY = { name: 'uswarm-agent-runtime', namespace: NAMESPACE.runtime };
  let restore: () => Promise<unknown>;

  beforeAll(async () => {
    user = runtimeUserOf(await signUp(session));
    await session.ready(user.name);
    const policy = await session.api.get('NetworkPolicy', POLICY);
    const { annotations, labels } = policy.metadata ?? {};
    const item = {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'NetworkPolicy',
      metadata: { ...POLICY, annotations, labels },
      spec: policy.spec,
    };
    // Use the field manager of Helm: a foreign field owner would fail its next upgrade.
    restore = () =>
      session.tools.kubectl(['apply', '--server-side', '--field-manager=helm', '-f', '-'], {
        input: JSON.stringify(item),
      });
    session.onClose(() => restore());
    // The default deny stays.
    await session.api.delete('NetworkPolicy', POLICY);
    const { pod } = await runningContainer(session, user.name);
    await session.tools.kubectl(['delete', 'pod', pod, '-n', NAMESPACE.runtime, '--grace-period=1']);
  });

  it('is named after about 30 s by REASON, condition and Event, and its message is kept', async () => {
    const { object } = await session.swarms.until(
      user.name,
      'is Unreachable',
      (swarm) => swarm !== undefined && readyCondition(swarm)?.reason === 'Unreachable',
      150_000,
    );
    expect(object?.status?.phase).toBe('Ready');
    expect(object?.status?.conditions?.find(({ type }) => type === 'Reachable')).toMatchObject({ status: 'False' });
    const fieldSelector = `involvedObject.name=${user.name},reason=Unreachable`;
    await eventually(
      async () => (await session.api.list('Event', { namespace: 'default', fieldSelector })).length > 0,
      {
        description: 'an Event Unreachable',
        timeoutMs: SHOWN_WITHIN_MS,
      },
    );
  });

  it('is no longer named when it is reached, and answers the message that waited', async () => {
    const word = randomUUID();
    await send(user, `Please repeat: ${word}`);
    await restore();
    await answerWith(user, word, 120_000);
    const { object } = await session.swarms.until(
      user.name,
      'is Available',
      (swarm) => swarm !== undefined && readyCondition(swarm)?.reason === 'Available',
      60_000,
    );
    expect(object?.status?.conditions?.map(({ type }) => type)).not.toContain('Reachable');
  });
});

it('UserSwarms are created while etcd responds only a quarter of the time, and the controller keeps running', async () => {
  const [etcd] = await session.api.list('Pod', { namespace: 'kube-system', labelSelector: 'component=etcd' });
  const target = { namespace: 'kube-system', pod: etcd?.metadata?.name ?? '', container: 'etcd' };
  const selector = { namespace: NAMESPACE.release, labelSelector: 'app.kubernetes.io/component=controller' };
  const restarts = async (): Promise<number> =>
    (await session.api.list('Pod', selector))
      .flatMap(({ status }) => status?.containerStatuses ?? [])
      .reduce((sum, { restartCount }) => sum + restartCount, 0);
  const before = await restarts();
  const pulses = killer.pulse(target, 40_000);
  const names = await Promise.all(
    Array.from({ length: 3 }, () =>
      eventually(() => session.create(), { description: 'created', timeoutMs: 60_000, intervalMs: 1_000 }),
    ),
  );
  await pulses;
  for (const name of names) {
    const ready = await session.ready(name);
    expect(conditionOf(ready, 'Synced')?.status).toBe('True');
  }
  expect(await restarts()).toBe(before);
});
