import { createCertificate } from '@uswarm/testkit';
import { nginxConfig } from './edge-config.js';
import { fixtureObjects, NAMESPACE } from './fixtures.js';
import { forwardPort } from './port-forward.js';
import type { Session } from './session.js';
import { imageOf } from './settings.js';

const NAME = 'private';
const PROXY = 'forward-proxy';

export const PRIVATE_MODEL_PORT = 8443;
/** Cluster DNS resolves it from each namespace, and it does not end with a suffix that always bypasses a proxy. */
export const PRIVATE_MODEL_HOST = `${NAME}.${NAMESPACE.models}`;
export const PRIVATE_MODEL = `https://${PRIVATE_MODEL_HOST}:${PRIVATE_MODEL_PORT}/v1`;

const FORWARD_PROXY_PORT = 3128;
export const FORWARD_PROXY = `http://${PROXY}.${NAMESPACE.models}.svc.cluster.local:${FORWARD_PROXY_PORT}`;

/** The chart's egress rules for one fixture's pods. */
const egressTo = (app: string, port: number) => ({
  namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': NAMESPACE.models } },
  podSelector: { matchLabels: { app } },
  ports: [port],
});
export const TO_PRIVATE_MODEL = egressTo(NAME, PRIVATE_MODEL_PORT);
export const TO_FORWARD_PROXY = egressTo(PROXY, FORWARD_PROXY_PORT);

/**
 * The model server over TLS, with a certificate from an authority that no image trusts. The ConfigMap `authority`
 * exists until the session closes.
 */
export async function deployPrivateModel(
  session: Session,
  authority: { name: string; namespace: string },
): Promise<void> {
  const { ca, certificate, key } = await createCertificate(PRIVATE_MODEL_HOST);
  const metadata = { name: NAME, namespace: NAMESPACE.models };
  const server = `  server {
    listen ${PRIVATE_MODEL_PORT} ssl;
    ssl_certificate /etc/private-tls/tls.crt;
    ssl_certificate_key /etc/private-tls/tls.key;
    proxy_http_version 1.1;
    proxy_buffering off;
    location / { proxy_pass http://models.${NAMESPACE.models}.svc.cluster.local:8080; }
  }`;
  await deploy(session, NAME, [
    { apiVersion: 'v1', kind: 'Secret', metadata, stringData: { 'tls.crt': certificate, 'tls.key': key } },
    { apiVersion: 'v1', kind: 'ConfigMap', metadata, data: { 'nginx.conf': nginxConfig(server) } },
    ...fixtureObjects({
      name: NAME,
      namespace: NAMESPACE.models,
      image: imageOf(session.settings.images, 'edge'),
      port: PRIVATE_MODEL_PORT,
      command: ['nginx', '-c', '/etc/private/nginx.conf', '-g', 'daemon off;'],
      mounts: [
        { path: '/etc/private', configMap: NAME },
        { path: '/etc/private-tls', secret: NAME },
      ],
    }),
  ]);
  await session.api.delete('ConfigMap', authority);
  await session.api.create('ConfigMap', { metadata: authority, data: { 'ca.crt': ca } });
  session.onClose(() => session.api.delete('ConfigMap', authority));
}

/** A proxy that supports only CONNECT. @returns reads its connections' targets so far */
export async function deployForwardProxy(session: Session): Promise<() => Promise<string[]>> {
  const image = imageOf(session.settings.images, PROXY);
  await deploy(
    session,
    PROXY,
    fixtureObjects({ name: PROXY, namespace: NAMESPACE.models, image, port: FORWARD_PROXY_PORT }),
  );
  const forwarded = await forwardPort(session.tools, NAMESPACE.models, `deployment/${PROXY}`, 8081);
  session.onClose(() => forwarded.close());
  return async () => {
    const response = await fetch(`http://127.0.0.1:${forwarded.port}/targets`);
    return (await response.json()) as string[];
  };
}

async function deploy({ tools, onClose }: Session, name: string, items: object[]): Promise<void> {
  const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
  onClose(() => tools.kubectl(['delete', '--ignore-not-found', '--wait=false', '-f', '-'], { input }));
  await tools.kubectl(['apply', '--server-side', '--force-conflicts', '-f', '-'], { input });
  const status = ['rollout', 'status', '-n', NAMESPACE.models, `deployment/${name}`, '--timeout=60s'];
  await tools.kubectl(status, { timeoutMs: 90_000 });
}
