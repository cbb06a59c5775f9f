import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { LABEL } from '@uswarm/contract/userswarm';
import { allowConnection, type Caller, waitForOutcome } from '../support/attack.js';
import { evaluateInPod, NAMESPACE, openSession, RELEASE, type Session } from '../support/index.js';
import { useModelServer } from '../support/model-server.js';
import { AWAKE, createRollingRelease } from '../support/rolling-release.js';
import { answerWith, podOf, type RuntimeUser, send } from '../support/rolling-swarms.js';

let session: Session;
let user: RuntimeUser;
let runtime: Caller;
/** Address of the cluster's DNS server. */
let server: string;

const clusterIP = async (name: string, namespace: string = NAMESPACE.release): Promise<string> => {
  const { stdout } = await session.tools.kubectl([
    'get',
    'service',
    '-n',
    namespace,
    name,
    '-o',
    'jsonpath={.spec.clusterIP}',
  ]);
  return stdout.trim();
};

beforeAll(async () => {
  session = await openSession();
  const release = createRollingRelease(session);
  server = await clusterIP('kube-dns', 'kube-system');
  await release.upgrade({
    modelGateway: { clusterIP: await clusterIP(`${RELEASE}-model-gateway`) },
    searxngClient: { clusterIP: await clusterIP(`${RELEASE}-searxng-client`) },
    runtime: { ...AWAKE, dns: { enabled: false } },
  });
  [user] = (await release.signUp(1)) as [RuntimeUser];
  await useModelServer(session, user.name);
  const pod = await podOf(session, user.name);
  runtime = { namespace: NAMESPACE.runtime, pod: pod!.metadata!.name!, labels: { [LABEL.instance]: user.name } };
});
afterAll(() => session?.close());

/** The address, or the error code. */
const lookup = (host: string): Promise<string> =>
  evaluateInPod(
    session.tools,
    runtime,
    async (name: string): Promise<string> => {
      const { lookup: find } = await import('node:dns/promises');
      return find(name).then(
        ({ address }) => address,
        ({ code }: NodeJS.ErrnoException) => code ?? 'error',
      );
    },
    host,
  );

describe('a runtime without DNS', () => {
  it('resolves the model gateway and the search tool', async () => {
    for (const name of [`${RELEASE}-model-gateway`, `${RELEASE}-searxng-client`]) {
      expect(await lookup(`${name}.${NAMESPACE.release}.svc.cluster.local`)).toBe(await clusterIP(name));
    }
  });

  it.each([
    'secret.tunnel.example.com',
    'kubernetes.default.svc.cluster.local',
    `${RELEASE}-orchestrator.${NAMESPACE.release}.svc.cluster.local`,
  ])('does not resolve %s', async (host) => {
    expect(await lookup(host)).toMatch(/^E(AI_AGAIN|NOTFOUND|AI_FAIL)$/);
  });

  it('cannot ask the DNS server of the cluster, which only network policies block', async () => {
    const to = {
      host: server,
      port: 53,
      pods: { namespace: 'kube-system', labels: { 'k8s-app': 'kube-dns' } },
    };
    await expect(waitForOutcome(session, runtime, to, 'silence')).resolves.toBe('silence');
    const removePolicy = await allowConnection(session, 'Egress', runtime, to);
    await expect(waitForOutcome(session, runtime, to, 'open')).resolves.toBe('open');
    await removePolicy();
    await expect(waitForOutcome(session, runtime, to, 'silence')).resolves.toBe('silence');
  });

  it('still answers through the model gateway', async () => {
    const text = 'Hello without names.';
    await send(user, text);
    await expect(answerWith(user, text, 60_000)).resolves.toMatchObject({ status: 'delivered' });
  });
});
