import { createHash } from 'node:crypto';
import { createCertificate } from '@uswarm/testkit';
import { eventually } from '@uswarm/testkit/eventually';
import { edgeConfig, type Resolve } from './edge-config.js';
import { EDGE_PORT, fixtureNode, fixtureObjects, HOST, NAMESPACE, RELEASE } from './fixtures.js';
import type { KubeApi } from './kube-api.js';
import { secretValue } from './secrets.js';
import type { Tools } from './tools.js';

interface EdgeDeps {
  api: KubeApi;
  tools: Tools;
}

const TLS_SECRET = 'uswarm-tls';
const CA_SECRET = 'uswarm-e2e-ca';

/** The Ingress' TLS Secret, created once per run. */
export async function ensureCertificate({ api }: Pick<EdgeDeps, 'api'>): Promise<void> {
  if ((await api.find('Secret', { name: CA_SECRET, namespace: NAMESPACE.edge })) !== undefined) return;
  const { ca, certificate, key } = await createCertificate(HOST);
  const tls = { 'tls.crt': certificate, 'tls.key': key };
  for (const namespace of [NAMESPACE.edge, NAMESPACE.release]) {
    await api.delete('Secret', { name: TLS_SECRET, namespace });
    await api.create('Secret', {
      metadata: { name: TLS_SECRET, namespace },
      type: 'kubernetes.io/tls',
      stringData: tls,
    });
  }
  await api.create('Secret', {
    metadata: { name: CA_SECRET, namespace: NAMESPACE.edge },
    stringData: { 'ca.crt': ca },
  });
}

/** The edge's CA certificate, PEM. */
export function edgeAuthority(api: Pick<KubeApi, 'get'>): Promise<string> {
  return secretValue(api, { name: CA_SECRET, namespace: NAMESPACE.edge }, 'ca.crt');
}

/**
 * Deploys nginx as the ingress controller, configured from the release's Ingress.
 *
 * @param nodes with several nodes, which tests stop, nginx uses Service addresses, whose pods kube-proxy keeps current
 */
export async function deployEdge({ api, tools }: EdgeDeps, image: string, nodes = 1): Promise<void> {
  const ingress = await api.get('Ingress', { name: RELEASE, namespace: NAMESPACE.release });
  const tlsSecret = ingress.spec?.tls?.[0]?.secretName;
  if (tlsSecret !== TLS_SECRET) throw new Error(`the Ingress names the TLS secret ${tlsSecret}, not ${TLS_SECRET}`);
  // A ready pod is reachable through its Service with a delay.
  const config = await eventually(
    async () =>
      edgeConfig({
        ingress,
        resolve: await (nodes === 1 ? resolver(api) : serviceAddresses(api)),
        port: EDGE_PORT,
        certificateFile: '/etc/edge-tls/tls.crt',
        keyFile: '/etc/edge-tls/tls.key',
      }),
    { description: 'something is ready behind each Service', timeoutMs: 30_000 },
  );
  const configMap = {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'edge', namespace: NAMESPACE.edge },
    data: { 'nginx.conf': config },
  };
  const objects = fixtureObjects({
    name: 'edge',
    namespace: NAMESPACE.edge,
    ...fixtureNode(nodes),
    image,
    port: EDGE_PORT,
    nodePort: true,
    command: ['nginx', '-c', '/etc/edge/nginx.conf', '-g', 'daemon off;'],
    mounts: [
      { path: '/etc/edge', configMap: 'edge' },
      { path: '/etc/edge-tls', secret: TLS_SECRET },
    ],
    revision: createHash('sha256').update(config).digest('hex').slice(0, 16),
  });
  await tools.kubectl(['apply', '--server-side', '--force-conflicts', '-f', '-'], {
    input: JSON.stringify({ apiVersion: 'v1', kind: 'List', items: [configMap, ...objects] }),
  });
  await tools.kubectl(['rollout', 'status', '-n', NAMESPACE.edge, 'deployment/edge', '--timeout=60s'], {
    timeoutMs: 90_000,
  });
}

/** A Service's cluster address. */
async function serviceAddresses(api: KubeApi): Promise<Resolve> {
  const services = await api.list('Service', { namespace: NAMESPACE.release });
  return (service, port) => {
    const spec = services.find(({ metadata }) => metadata?.name === service)?.spec;
    const number = spec?.ports?.find((entry) => entry.name === port || entry.port === port)?.port;
    if (number === undefined) throw new Error(`there is no Service ${service} with port ${port}`);
    return [`${spec?.clusterIP}:${number}`];
  };
}

/** A Service's pod addresses, which session affinity needs. */
async function resolver(api: KubeApi): Promise<Resolve> {
  const slices = await api.list('EndpointSlice', { namespace: NAMESPACE.release });
  const services = await api.list('Service', { namespace: NAMESPACE.release });
  return (service, port) => {
    const described = services.find(({ metadata }) => metadata?.name === service)?.spec?.ports ?? [];
    const portName = described.find((entry) => entry.name === port || entry.port === port)?.name;
    const found = slices
      .filter(({ metadata }) => metadata?.labels?.['kubernetes.io/service-name'] === service)
      .flatMap(({ endpoints, ports }) => {
        const target = ports?.find(({ name }) => (name ?? '') === (portName ?? ''))?.port;
        return (endpoints ?? [])
          .filter(({ conditions }) => conditions?.ready !== false)
          .flatMap(({ addresses }) => addresses.map((address) => `${address}:${target}`));
      });
    if (found.length === 0) throw new Error(`nothing is ready behind the Service ${service} port ${port}`);
    return found.toSorted();
  };
}
