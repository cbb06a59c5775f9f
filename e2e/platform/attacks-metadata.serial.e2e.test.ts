import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { LABEL, ownEnvSecret } from '@uswarm/contract/userswarm';
import { imageOf, NAMESPACE, openSession, type Session } from '../support/index.js';
import { waitForOutcome, tryConnection, type Caller, allowConnection } from '../support/attack.js';
import { writeRuntimeSecret } from '../support/own-provider.js';

/** The cloud providers' metadata server, which returns the node's credentials. */
const METADATA = { host: '169.254.169.254', port: 80, cidr: '169.254.169.254/32' };
/** A documentation address that represents an internet host. */
const INTERNET = { host: '203.0.113.10', port: 443, cidr: '203.0.113.10/32' };
const OTHER_PORT = { ...INTERNET, port: 80 };

let session: Session;
let runtime: Caller;
/** A runtime that calls its models itself rather than through the model gateway. */
let direct: Caller;
let elsewhere: Caller;

beforeAll(async () => {
  session = await openSession();
  await startStandIn();
  const name = session.newName();
  const secret = ownEnvSecret(name);
  await writeRuntimeSecret(session, secret, { OPENAI_API_KEY: 'unused' });
  const config = { defaultProvider: 'openai', envSecretRef: { name: secret } };
  [runtime, direct] = await Promise.all([session.create().then(ready), session.create({ config }, name).then(ready)]);
  const [upstream] = await session.api.list('Pod', { namespace: NAMESPACE.search, labelSelector: 'app=upstream' });
  elsewhere = { namespace: NAMESPACE.search, pod: upstream!.metadata!.name!, labels: { app: 'upstream' } };
});
afterAll(() => session?.close());

async function ready(name: string): Promise<Caller> {
  await session.ready(name);
  const [pod] = (await session.children(name)).pods;
  return { namespace: NAMESPACE.runtime, pod: pod!.metadata!.name!, labels: { [LABEL.instance]: name } };
}

/** Adds both addresses to the node while this pod runs. */
async function startStandIn(): Promise<void> {
  const place = { name: 'metadata', namespace: NAMESPACE.edge };
  const places = [METADATA, INTERNET, OTHER_PORT];
  const addresses = new Set(places.map(({ host }) => host));
  const each = (command: (address: string) => string): string => [...addresses].map(command).join('; ');
  const add = each((address) => `busybox ip address add ${address}/32 dev lo`);
  const listen = places.map(({ host, port }) => `busybox httpd -f -p ${host}:${port} -h /tmp`).join(' & ');
  const remove = each((address) => `busybox ip address del ${address}/32 dev lo`);
  await session.api.create('Pod', {
    metadata: place,
    spec: {
      hostNetwork: true,
      terminationGracePeriodSeconds: 5,
      containers: [
        {
          name: 'metadata',
          image: imageOf(session.settings.images, 'valkey'),
          imagePullPolicy: 'IfNotPresent',
          command: ['sh', '-c', `${add}; ${listen}`],
          lifecycle: { preStop: { exec: { command: ['sh', '-c', remove] } } },
          securityContext: { runAsUser: 0, capabilities: { add: ['NET_ADMIN', 'NET_BIND_SERVICE'] } },
        },
      ],
    },
  });
  session.onClose(() =>
    session.tools.kubectl(['delete', 'pod', '-n', place.namespace, place.name, '--timeout=30s'], { timeoutMs: 40_000 }),
  );
  await session.tools.kubectl(
    ['wait', '-n', place.namespace, 'pod/metadata', '--for=condition=Ready', '--timeout=60s'],
    {
      timeoutMs: 70_000,
    },
  );
}

it('a runtime cannot reach the metadata server of its node, while pods without a policy can', async () => {
  await expect(waitForOutcome(session, elsewhere, METADATA, 'open')).resolves.toBe('open');
  const removePolicy = await allowConnection(session, 'Egress', runtime, METADATA);
  await expect(waitForOutcome(session, runtime, METADATA, 'open')).resolves.toBe('open');
  await removePolicy();
  await expect(waitForOutcome(session, runtime, METADATA, 'silence')).resolves.toBe('silence');
});

it('a runtime reaches the internet only if it calls its models itself, and on port 443 only', async () => {
  await expect(waitForOutcome(session, direct, INTERNET, 'open')).resolves.toBe('open');
  await expect(waitForOutcome(session, runtime, INTERNET, 'silence')).resolves.toBe('silence');
  await expect(waitForOutcome(session, elsewhere, OTHER_PORT, 'open')).resolves.toBe('open');
  await expect(waitForOutcome(session, direct, OTHER_PORT, 'silence')).resolves.toBe('silence');
});

it('a platform component without a cloud role cannot reach the metadata server either', async () => {
  const [pod] = await session.api.list('Pod', {
    namespace: NAMESPACE.release,
    labelSelector: 'app.kubernetes.io/component=orchestrator',
  });
  const { labels = {}, name = '' } = pod!.metadata!;
  const orchestrator = { namespace: NAMESPACE.release, pod: name, labels, container: 'orchestrator' };
  expect(await tryConnection(session, orchestrator, METADATA)).toBe('silence');
});
