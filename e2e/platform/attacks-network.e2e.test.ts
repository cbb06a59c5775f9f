import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { childName, LABEL } from '@uswarm/contract/userswarm';
import { NAMESPACE, openSession, RELEASE, type Session } from '../support/index.js';
import {
  allowConnection,
  type Attack,
  attackTitle,
  type Caller,
  type Target,
  waitForOutcome,
} from '../support/attack.js';
import { type Connection, RUNTIME_CONNECTIONS } from '../support/attacks/parts.js';

let session: Session;
let victim: string;
/** Another tenant's pod; its own policy and the target's block connections. */
let tenant: Caller;
/** A pod in a namespace without any policy. */
let elsewhere: Caller;

beforeAll(async () => {
  session = await openSession();
  const [first, second] = await Promise.all([session.create(), session.create()]);
  await Promise.all([session.ready(first), session.ready(second)]);
  victim = first;
  const [pod] = (await session.children(second)).pods;
  tenant = { namespace: NAMESPACE.runtime, pod: pod!.metadata!.name!, labels: { [LABEL.instance]: second } };
  const [upstream] = await session.api.list('Pod', { namespace: NAMESPACE.search, labelSelector: 'app=upstream' });
  elsewhere = { namespace: NAMESPACE.search, pod: upstream!.metadata!.name!, labels: { app: 'upstream' } };
});
afterAll(() => session?.close());

const part = (component: string, port: number): Target => ({
  host: `${RELEASE}-${component}.${NAMESPACE.release}.svc.cluster.local`,
  port,
  pods: {
    namespace: NAMESPACE.release,
    labels: { 'app.kubernetes.io/instance': RELEASE, 'app.kubernetes.io/component': component },
  },
});
const runtime = (): Target => ({
  host: `${childName(victim)}.${NAMESPACE.runtime}.svc.cluster.local`,
  port: 42_618,
  pods: { namespace: NAMESPACE.runtime, labels: { [LABEL.instance]: victim } },
});

const targetOf = ({ attempt: { to, port } }: Attack<Connection>): Target =>
  to === 'runtime' ? runtime() : part(to, port);

describe('an attack', () => {
  it.each(RUNTIME_CONNECTIONS.map((row) => [attackTitle(row), row] as const))(
    '%s of both sides, of which each suffices',
    async (_title, row) => {
      const to = targetOf(row);
      const removeEgressPolicy = await allowConnection(session, 'Egress', tenant, to);
      const removeIngressPolicy = await allowConnection(session, 'Ingress', tenant, to);
      await expect(waitForOutcome(session, tenant, to, 'open')).resolves.toBe('open');
      await removeIngressPolicy();
      await expect(waitForOutcome(session, tenant, to, 'silence')).resolves.toBe('silence');
      const removeSecondIngressPolicy = await allowConnection(session, 'Ingress', tenant, to);
      await expect(waitForOutcome(session, tenant, to, 'open')).resolves.toBe('open');
      await removeEgressPolicy();
      await expect(waitForOutcome(session, tenant, to, 'silence')).resolves.toBe('silence');
      await removeSecondIngressPolicy();
    },
  );
});

describe('a pod of another tenant', () => {
  it('cannot read metrics, while other pods of the cluster can', async () => {
    const to = part('controller', 8081);
    await expect(waitForOutcome(session, elsewhere, to, 'open')).resolves.toBe('open');
    const removePolicy = await allowConnection(session, 'Egress', tenant, to);
    await expect(waitForOutcome(session, tenant, to, 'open')).resolves.toBe('open');
    await removePolicy();
    await expect(waitForOutcome(session, tenant, to, 'silence')).resolves.toBe('silence');
  });

  it('cannot reach the API server', async () => {
    const apiServer = { host: 'kubernetes.default.svc.cluster.local', port: 443, cidr: '0.0.0.0/0' };
    const removePolicy = await allowConnection(session, 'Egress', tenant, apiServer);
    await expect(waitForOutcome(session, tenant, apiServer, 'open')).resolves.toBe('open');
    await removePolicy();
    await expect(waitForOutcome(session, tenant, apiServer, 'silence')).resolves.toBe('silence');
  });

  it('can reach DNS and the tool server', async () => {
    await expect(waitForOutcome(session, tenant, part('searxng-client', 8080), 'open')).resolves.toBe('open');
  });

  it('cannot reach the REST API, which runtimes do not use', async () => {
    const to = part('orchestrator', 8080);
    const removePolicy = await allowConnection(session, 'Egress', tenant, to);
    await expect(waitForOutcome(session, tenant, to, 'open')).resolves.toBe('open');
    await removePolicy();
    await expect(waitForOutcome(session, tenant, to, 'silence')).resolves.toBe('silence');
  });
});

describe('a pod of another namespace', () => {
  it.each(RUNTIME_CONNECTIONS)('$tries: refused by the policy of the target', async (row) => {
    const to = targetOf(row);
    const removePolicy = await allowConnection(session, 'Ingress', elsewhere, to);
    await expect(waitForOutcome(session, elsewhere, to, 'open')).resolves.toBe('open');
    await removePolicy();
    await expect(waitForOutcome(session, elsewhere, to, 'silence')).resolves.toBe('silence');
  });

  it('cannot connect with the labels of an allowed pod', async () => {
    const to = part('webhook', 8080);
    const name = 'attacker';
    const labels = {
      'app.kubernetes.io/name': 'uswarm',
      'app.kubernetes.io/instance': RELEASE,
      'app.kubernetes.io/component': 'controller',
    };
    const { image } = (await session.api.get('Pod', { name: elsewhere.pod, namespace: NAMESPACE.search })).spec!
      .containers[0]!;
    const place = { name, namespace: NAMESPACE.search };
    const containers = [{ name, image, imagePullPolicy: 'IfNotPresent' }];
    await session.api.create('Pod', {
      metadata: { ...place, labels },
      spec: { containers, enableServiceLinks: false },
    });
    session.onClose(() => session.api.delete('Pod', place));
    await session.tools.kubectl(
      ['wait', '-n', place.namespace, `pod/${name}`, '--for=condition=Ready', '--timeout=60s'],
      {
        timeoutMs: 70_000,
      },
    );
    const attacker = { namespace: place.namespace, pod: name, labels };
    const removePolicy = await allowConnection(session, 'Ingress', attacker, to);
    await expect(waitForOutcome(session, attacker, to, 'open')).resolves.toBe('open');
    await removePolicy();
    await expect(waitForOutcome(session, attacker, to, 'silence')).resolves.toBe('silence');
  });
});
