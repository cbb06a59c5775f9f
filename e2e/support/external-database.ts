import { fixtureObjects, GENERATED_SECRET, NAMESPACE, namespaceObject } from './fixtures.js';
import type { Session } from './session.js';
import { imageOf } from './settings.js';

const DATABASE = 'e2e-database';
const SECRET = { name: DATABASE, namespace: NAMESPACE.release };
const PORT = 5432;

const KEYS = { name: 'e2e-keys', namespace: NAMESPACE.release };

/** Copies the generated keys to a separate Secret. @returns the chart's value `secrets` */
export async function createExternalKeys({ api, onClose }: Session): Promise<object> {
  const { data } = await api.get('Secret', GENERATED_SECRET);
  await api.delete('Secret', KEYS);
  await api.create('Secret', { metadata: KEYS, data });
  onClose(() => api.delete('Secret', KEYS));
  const names = [
    'internalApi',
    'cursor',
    'identityHash',
    'signature',
    'callKey',
    'mcpSigning',
    'modelToken',
    'modelCalls',
    'sync',
    'searxng',
  ];
  return Object.fromEntries(names.map((name) => [name, { existingSecret: KEYS.name }]));
}

/** Starts a database in a separate namespace. @returns the chart's value `secrets` */
export async function createExternalDatabase({ api, onClose, settings, tools }: Session): Promise<object> {
  const password = crypto.randomUUID();
  const apply = (items: object[]): Promise<unknown> =>
    tools.kubectl(['apply', '--server-side', '-f', '-'], {
      input: JSON.stringify({ apiVersion: 'v1', kind: 'List', items }),
    });
  await apply([
    namespaceObject(DATABASE),
    ...fixtureObjects({
      name: 'postgres',
      namespace: DATABASE,
      image: imageOf(settings.images, 'postgres'),
      port: PORT,
      env: { POSTGRES_USER: 'uswarm', POSTGRES_DB: 'uswarm', POSTGRES_PASSWORD: password, PGDATA: '/tmp/pgdata' },
      command: ['docker-entrypoint.sh', 'postgres', '-c', 'unix_socket_directories=/tmp'],
    }),
  ]);
  onClose(() => api.delete('Namespace', { name: DATABASE }));
  const url = `postgres://uswarm:${password}@postgres.${DATABASE}.svc.cluster.local:${PORT}/uswarm`;
  await api.delete('Secret', SECRET);
  await api.create('Secret', { metadata: SECRET, stringData: { 'database-url': url } });
  onClose(() => api.delete('Secret', SECRET));
  await tools.kubectl(['rollout', 'status', '-n', DATABASE, 'deployment/postgres', '--timeout=60s'], {
    timeoutMs: 90_000,
  });
  return { database: { existingSecret: SECRET.name } };
}
