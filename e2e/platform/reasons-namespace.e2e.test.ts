import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { eventually } from '@uswarm/testkit/eventually';
import { messageOf, NAMESPACE, openSession, readyCondition, type Session, SHOWN_WITHIN_MS } from '../support/index.js';

const QUOTA_NAMESPACE = 'e2e-quota';
const VANISHING_NAMESPACE = 'e2e-vanishing';

let session: Session;
beforeAll(async () => {
  session = await openSession();
});
afterAll(() => session?.close());

async function withQuota(hard: Record<string, string>): Promise<() => Promise<unknown>> {
  const place = { name: 'e2e', namespace: QUOTA_NAMESPACE };
  await session.api.delete('ResourceQuota', place);
  await session.api.create('ResourceQuota', { metadata: place, spec: { hard } });
  // A quota is enforced only after the controller manager has processed it.
  await session.tools.kubectl([
    'wait',
    '-n',
    QUOTA_NAMESPACE,
    'resourcequota/e2e',
    '--timeout=30s',
    `--for=jsonpath={.status.hard.${Object.keys(hard)[0]!.replaceAll('.', String.raw`\.`)}}`,
  ]);
  return () => session.api.delete('ResourceQuota', place);
}

/** Waits for Events about the UserSwarm. */
const typesOfEvents = (name: string, reason: string): Promise<(string | undefined)[]> =>
  eventually(
    async () => {
      const fieldSelector = `involvedObject.name=${name},reason=${reason}`;
      const events = await session.api.list('Event', { namespace: 'default', fieldSelector });
      return events.length > 0 ? events.map(({ type }) => type) : undefined;
    },
    { description: `an Event ${reason}`, timeoutMs: SHOWN_WITHIN_MS },
  );

it.each([
  ['Deployments', { 'count/deployments.apps': '0' }],
  ['Services', { services: '0' }],
  ['pods', { pods: '0' }],
])('CTRL-003: reports QuotaExceeded while the quota allows no %s', async (_what, hard) => {
  const removeQuota = await withQuota(hard as unknown as Record<string, string>);
  const name = await session.create({ placement: { runtimeNamespace: QUOTA_NAMESPACE } });
  const refused = await session.shows(name, 'Progressing', 'QuotaExceeded');
  expect(messageOf(refused)).toContain('exceeded quota');
  expect(await typesOfEvents(name, 'QuotaExceeded')).toEqual(['Warning']);
  await removeQuota();
  await session.ready(name);
  await session.api.delete('UserSwarm', { name });
  await session.deleted(name);
});

it('CTRL-003: reports Forbidden with an Event while a LimitRange rejects the pod', async () => {
  const place = { name: 'e2e', namespace: QUOTA_NAMESPACE };
  await session.api.delete('LimitRange', place);
  const limits = [{ type: 'Container', max: { memory: '1Mi' } }];
  await session.api.create('LimitRange', { metadata: place, spec: { limits } });
  session.onClose(() => session.api.delete('LimitRange', place));
  const name = await session.create({ placement: { runtimeNamespace: QUOTA_NAMESPACE } });
  const refused = await session.shows(name, 'Progressing', 'Forbidden');
  expect(messageOf(refused)).toContain('maximum memory usage per Container is 1Mi');
  expect(await typesOfEvents(name, 'Forbidden')).toEqual(['Warning']);
  await session.api.delete('LimitRange', place);
  await session.ready(name);
  await session.api.delete('UserSwarm', { name });
  await session.deleted(name);
});

/** A Deployment without pods. */
const NO_PODS = {
  replicas: 0,
  selector: { matchLabels: { owner: 'other' } },
  template: {
    metadata: { labels: { owner: 'other' } },
    spec: { containers: [{ name: 'other', image: 'localhost/other:1' }] },
  },
};

it.each([
  ['Service', { ports: [{ port: 80 }] }],
  ['Deployment', NO_PODS],
] as const)('reports NameConflict while a foreign object has the name of a child: %s', async (kind, spec) => {
  const name = session.newName();
  const place = { name: `agent-runtime-${name}`, namespace: NAMESPACE.runtime };
  await session.api.create(kind, { metadata: { ...place, labels: { owner: 'other' } }, spec } as object);
  await session.create({}, name);
  const conflicting = await session.shows(name, 'Progressing', 'NameConflict');
  expect(messageOf(conflicting)).toContain(`${kind} ${place.namespace}/${place.name}`);
  const { metadata } = await session.api.get(kind, place);
  expect({ labels: metadata?.labels, owners: metadata?.ownerReferences }).toEqual({
    labels: { owner: 'other' },
    owners: undefined,
  });
  await session.api.delete(kind, place);
  await session.ready(name);
});

it('reports ApplyFailed while a foreign finalizer keeps a deleted child that the runtime needs', async () => {
  const name = await session.create();
  await session.ready(name);
  const place = { name: `agent-runtime-${name}`, namespace: NAMESPACE.runtime };
  await session.api.merge('Service', place, { metadata: { finalizers: ['e2e.uswarm.dev/hold'] } });
  await session.api.delete('Service', place);
  const held = await session.shows(name, 'Progressing', 'ApplyFailed');
  expect(messageOf(held)).toContain('waits for its finalizers: e2e.uswarm.dev/hold');
  await session.api.merge('Service', place, { metadata: { finalizers: null } });
  await session.ready(name);
});

it('keeps the foreign object of a NameConflict when the UserSwarm is deleted', async () => {
  const name = session.newName();
  const place = { name: `agent-runtime-${name}`, namespace: NAMESPACE.runtime };
  await session.api.create('ServiceAccount', { metadata: place });
  session.onClose(() => session.api.delete('ServiceAccount', place));
  await session.create({}, name);
  await session.shows(name, 'Progressing', 'NameConflict');
  await session.api.delete('UserSwarm', { name });
  await session.deleted(name);
  expect(await session.api.find('ServiceAccount', place)).toBeDefined();
});

it('reports NamespaceMissing until the namespace and its rights exist again', async () => {
  const name = await session.create({ placement: { runtimeNamespace: VANISHING_NAMESPACE } });
  await session.ready(name);
  const roles = await session.api.list('Role', { namespace: VANISHING_NAMESPACE });
  const bindings = await session.api.list('RoleBinding', { namespace: VANISHING_NAMESPACE });
  const policies = await session.api.list('NetworkPolicy', { namespace: VANISHING_NAMESPACE });
  const { metadata: namespace } = await session.api.get('Namespace', { name: VANISHING_NAMESPACE });
  await session.api.delete('Namespace', { name: VANISHING_NAMESPACE });
  const missing = await session.shows(name, 'Progressing', 'NamespaceMissing');
  expect(messageOf(missing)).toContain(VANISHING_NAMESPACE);
  await session.tools.kubectl(['wait', '--for=delete', `namespace/${VANISHING_NAMESPACE}`, '--timeout=60s'], {
    timeoutMs: 70_000,
  });
  await session.swarms.until(
    name,
    'still NamespaceMissing',
    (swarm) => readyCondition(swarm!)?.message.includes('does not exist') ?? false,
    SHOWN_WITHIN_MS,
  );
  await session.api.create('Namespace', { metadata: { name: VANISHING_NAMESPACE, labels: namespace?.labels } });
  // Use the field manager of Helm: a foreign field owner would fail its next upgrade.
  const restored = [
    ...roles.map((role) => ({ apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'Role', ...role })),
    ...bindings.map((binding) => ({ apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'RoleBinding', ...binding })),
    ...policies.map((policy) => ({ apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy', ...policy })),
  ].map(({ metadata, ...rest }) => {
    const { annotations, labels, name: own } = metadata!;
    return { ...rest, metadata: { name: own, namespace: VANISHING_NAMESPACE, labels, annotations } };
  });
  const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: restored });
  await session.tools.kubectl(['apply', '--server-side', '--field-manager=helm', '-f', '-'], { input });
  await session.ready(name);
});
