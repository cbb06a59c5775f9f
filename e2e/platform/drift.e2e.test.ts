import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { childName } from '@uswarm/contract/userswarm';
import { eventually } from '@uswarm/testkit/eventually';
import {
  conditionOf,
  DELETED_WITHIN_MS,
  type Kinds,
  NAMESPACE,
  openSession,
  READY_WITHIN_MS,
  type Session,
} from '../support/index.js';

type ChildKind = 'Deployment' | 'Service' | 'ServiceAccount';
type Child = Kinds[ChildKind];

const IMMEDIATELY = ['--grace-period=1', '--wait=false', '--ignore-not-found'];
/** Limit for a revert; less than a resync period, and enough while other tests run. */
const REPAIRED_WITHIN_MS = 20_000;

let session: Session;
let name: string;
beforeAll(async () => {
  session = await openSession();
  name = await session.create();
  await session.ready(name);
});
afterAll(() => session?.close());

const place = (swarm = name) => ({ name: childName(swarm), namespace: NAMESPACE.runtime });
const read = (kind: ChildKind, swarm?: string): Promise<Child> => session.api.get(kind, place(swarm));

/** A child's desired fields, without fields that servers default, count and record. */
function desiredFields(child: Child): object {
  const { metadata, status: _status, ...rest } = child as Kinds['Deployment'];
  const { 'deployment.kubernetes.io/revision': _revision, ...annotations } = metadata?.annotations ?? {};
  const { labels, ownerReferences } = metadata ?? {};
  const {
    clusterIP: _address,
    clusterIPs: _addresses,
    ...spec
  } = (rest.spec ?? {}) as Kinds['Service']['spec'] & object;
  return { ...rest, spec, labels, annotations, ownerReferences };
}

/** Edits a child with kubectl. @returns the child immediately after the edit */
async function edit(kind: ChildKind, verb: string[], args: string[], swarm?: string): Promise<Child> {
  const where = ['-n', NAMESPACE.runtime, `${kind.toLowerCase()}/${place(swarm).name}`];
  const { stdout } = await session.tools.kubectl([...verb, ...where, ...args, '-o', 'json']);
  return JSON.parse(stdout) as Child;
}
const patch = (kind: ChildKind, operations: object[], swarm?: string): Promise<Child> =>
  edit(kind, ['patch'], ['--type=json', '-p', JSON.stringify(operations)], swarm);

/** Waits until the child has its former desired fields. `same`: the same object, otherwise a new one. */
function isReverted(kind: ChildKind, before: Child, same: boolean): Promise<true> {
  return eventually(
    async () => {
      const now = await read(kind);
      expect(desiredFields(now)).toEqual(desiredFields(before));
      expect(now.metadata?.uid === before.metadata?.uid).toBe(same);
      return true;
    },
    { description: `the ${kind} is as it was`, timeoutMs: REPAIRED_WITHIN_MS },
  );
}

const CONTAINER = '/spec/template/spec/containers/0';
const label =
  (kind: ChildKind, ...labels: string[]) =>
  () =>
    edit(kind, ['label', '--overwrite'], labels);
const change =
  (kind: ChildKind, ...operations: object[]) =>
  () =>
    patch(kind, operations);

/**
 * Waits until the runtime has exactly one pod and the pod is Ready. Ends pods that terminate: Node cannot handle SIGTERM until its
 * program runs, so that a pod that is deleted before that uses its whole grace period.
 */
function onePod(): Promise<Kinds['Pod']> {
  return eventually(
    async () => {
      const { pods } = await session.children(name);
      const states = pods.map(({ metadata, status }) =>
        metadata?.deletionTimestamp === undefined
          ? status?.conditions?.find(({ type }) => type === 'Ready')?.status
          : 'deleted',
      );
      const terminating = pods.filter(({ metadata }) => metadata?.deletionTimestamp !== undefined);
      const names = terminating.map(({ metadata }) => `pod/${metadata?.name}`);
      if (names.length > 0) await session.tools.kubectl(['delete', '-n', NAMESPACE.runtime, ...names, ...IMMEDIATELY]);
      if (states.length !== 1 || states[0] !== 'True') throw new Error(`pods: ${states.join(', ')}`);
      return pods[0]!;
    },
    { description: 'one Ready pod', timeoutMs: DELETED_WITHIN_MS + READY_WITHIN_MS },
  );
}

describe('a child that another client changes', () => {
  afterEach(() => onePod());

  it.each<[ChildKind, string, () => Promise<Child>]>([
    ['Deployment', 'its image', () => edit('Deployment', ['set', 'image'], ['agent-runtime=localhost/uswarm/other:1'])],
    ['Deployment', 'a variable of its pods', () => edit('Deployment', ['set', 'env'], ['USWARM_USER_ID=mallory'])],
    ['Deployment', 'an additional variable', () => edit('Deployment', ['set', 'env'], ['NODE_OPTIONS=--inspect'])],
    ['Deployment', 'a missing variable', () => edit('Deployment', ['set', 'env'], ['SVC_MCP_ENDPOINT-'])],
    ['Deployment', 'the number of its pods', change('Deployment', { op: 'replace', path: '/spec/replicas', value: 3 })],
    ['Deployment', 'a label', label('Deployment', 'app.kubernetes.io/managed-by=other')],
    ['Deployment', 'its selector label', label('Deployment', 'controller-uid-')],
    [
      'Deployment',
      'an additional container',
      change('Deployment', { op: 'add', path: '/spec/template/spec/containers/-', value: { name: 'x', image: 'x' } }),
    ],
    [
      'Deployment',
      'the security context of its container',
      change('Deployment', {
        op: 'replace',
        path: `${CONTAINER}/securityContext/readOnlyRootFilesystem`,
        value: false,
      }),
    ],
    [
      'Deployment',
      'a command of its container',
      change('Deployment', { op: 'add', path: `${CONTAINER}/command`, value: ['sleep', '1'] }),
    ],
    [
      'Deployment',
      'the network of its node',
      change('Deployment', { op: 'add', path: '/spec/template/spec/hostNetwork', value: true }),
    ],
    [
      'Deployment',
      'its strategy',
      change('Deployment', { op: 'replace', path: '/spec/strategy', value: { type: 'RollingUpdate' } }),
    ],
    ['Service', 'its port', change('Service', { op: 'replace', path: '/spec/ports/0/port', value: 1_234 })],
    [
      'Service',
      'an additional port',
      change('Service', { op: 'add', path: '/spec/ports/-', value: { name: 'x', port: 1_234 } }),
    ],
    ['Service', 'its selector', change('Service', { op: 'add', path: '/spec/selector/other', value: 'x' })],
    [
      'Service',
      'an address of another server',
      change('Service', { op: 'add', path: '/spec/externalIPs', value: ['192.0.2.1'] }),
    ],
    ['Service', 'its type', change('Service', { op: 'replace', path: '/spec/type', value: 'NodePort' })],
    [
      'Service',
      'a name outside of the cluster',
      change(
        'Service',
        { op: 'replace', path: '/spec/type', value: 'ExternalName' },
        { op: 'add', path: '/spec/externalName', value: 'elsewhere.example' },
      ),
    ],
    ['Service', 'a label', label('Service', 'app.kubernetes.io/instance=another')],
    ['Service', 'a missing label', label('Service', 'app.kubernetes.io/part-of-')],
    [
      'Service',
      'its owner reference',
      change('Service', { op: 'replace', path: '/metadata/ownerReferences/0/blockOwnerDeletion', value: false }),
    ],
    [
      'ServiceAccount',
      'its token automount',
      change('ServiceAccount', { op: 'replace', path: '/automountServiceAccountToken', value: true }),
    ],
    ['ServiceAccount', 'its selector label', label('ServiceAccount', 'controller-uid=another')],
  ])('is reverted in place: %s, %s', async (kind, _what, changeChild) => {
    const before = await read(kind);
    expect(desiredFields(await changeChild())).not.toEqual(desiredFields(before));
    await isReverted(kind, before, true);
  });

  it('keeps the runtime in one pod with the rendered settings', async () => {
    const pod = await onePod();
    const { spec } = (await read('Deployment')) as Kinds['Deployment'];
    const { image, env } = spec!.template.spec!.containers[0]!;
    expect(pod.spec?.containers).toHaveLength(1);
    expect(pod.spec?.containers[0]).toMatchObject({ image, env });
    await session.ready(name);
  });
});

describe('a child that another client deletes', () => {
  it.each<ChildKind>(['Service', 'ServiceAccount', 'Deployment'])(
    'is created again with the same settings: %s',
    async (kind) => {
      const before = await read(kind);
      expect(await session.api.delete(kind, place())).toBe(true);
      await isReverted(kind, before, false);
      await session.ready(name);
    },
  );
});

describe('a child whose owner reference another client removes', () => {
  it('is not adopted, which the status reports; another child is created after its deletion', async () => {
    const swarm = await session.create({ suspend: true });
    await session.shows(swarm, 'Suspended');
    const before = await read('Service', swarm);
    await patch('Service', [{ op: 'remove', path: '/metadata/ownerReferences' }], swarm);
    const shown = (status: string, reason: string) =>
      session.swarms.until(
        swarm,
        `Synced ${status} for ${reason}`,
        (object) => {
          const synced = object === undefined ? undefined : conditionOf(object, 'Synced');
          return synced?.status === status && synced.reason === reason;
        },
        REPAIRED_WITHIN_MS,
      );
    await shown('False', 'NameConflict');
    const orphan = await read('Service', swarm);
    expect(orphan.metadata?.uid).toBe(before.metadata?.uid);
    expect(orphan.metadata?.ownerReferences).toBeUndefined();
    expect(await session.api.delete('Service', place(swarm))).toBe(true);
    await shown('True', 'Synced');
    expect((await read('Service', swarm)).metadata?.ownerReferences).toEqual(before.metadata?.ownerReferences);
  });
});

it('keeps the children and the pod of a UserSwarm that is deleted without them', async () => {
  const swarm = await session.create();
  await session.ready(swarm);
  const [pod] = (await session.children(swarm)).pods;
  await session.tools.kubectl(['delete', `userswarms.uswarm.dev/${swarm}`, '--cascade=orphan', '--timeout=60s'], {
    timeoutMs: 70_000,
  });
  const deployment = await read('Deployment', swarm);
  expect(deployment.metadata?.ownerReferences).toBeUndefined();
  const { pods } = await session.children(swarm);
  expect(pods.map(({ metadata }) => [metadata?.uid, metadata?.deletionTimestamp])).toEqual([
    [pod?.metadata?.uid, undefined],
  ]);
  for (const kind of ['Deployment', 'Service', 'ServiceAccount'] as const) await session.api.delete(kind, place(swarm));
});

it('keeps the annotation of kubectl rollout restart', async () => {
  const swarm = await session.create();
  await session.ready(swarm);
  const [before] = (await session.children(swarm)).pods;
  await session.tools.kubectl(['rollout', 'restart', '-n', NAMESPACE.runtime, `deployment/${place(swarm).name}`]);
  await eventually(
    async () => {
      const [pod, ...others] = (await session.children(swarm)).pods;
      const ready = pod?.status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True');
      if (others.length > 0 || pod?.metadata?.uid === before?.metadata?.uid || !ready) throw new Error('not yet');
      return true;
    },
    { description: 'another pod is ready', timeoutMs: READY_WITHIN_MS },
  );
  const { spec } = (await read('Deployment', swarm)) as Kinds['Deployment'];
  expect(spec?.template.metadata?.annotations).toHaveProperty(['kubectl.kubernetes.io/restartedAt']);
});
