import { createCertificate } from '@uswarm/testkit';
import { eventually } from '@uswarm/testkit/eventually';
import { fixtureObjects, NAMESPACE } from './fixtures.js';
import type { Session } from './session.js';
import { imageOf } from './settings.js';
import { tryPod } from './plain-pod.js';

const NAME = 'pod-gate';
const PORT = 8443;
const HOST = `${NAME}.${NAMESPACE.edge}.svc`;

/** An admission webhook that adds a scheduling gate to every pod; it runs in a container without dependencies. */
const SERVER = `
const { readFileSync } = require('node:fs');
const patch = Buffer.from(JSON.stringify([
  { op: 'add', path: '/spec/schedulingGates', value: [{ name: 'e2e.uswarm.dev/held' }] },
])).toString('base64');
require('node:https')
  .createServer({ cert: readFileSync('/etc/tls/tls.crt'), key: readFileSync('/etc/tls/tls.key') }, async (request, response) => {
    let body = '';
    for await (const piece of request) body += piece;
    const { uid } = JSON.parse(body).request;
    const review = { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview' };
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ ...review, response: { uid, allowed: true, patchType: 'JSONPatch', patch } }));
  })
  .listen(${PORT});
`;

/** Gates every new pod in the namespace until `open` is called, like a queueing system. */
export async function gatePods(
  { api, onClose, settings, tools }: Session,
  namespace: string,
): Promise<{ open(): Promise<void> }> {
  const { ca, certificate, key } = await createCertificate(HOST);
  const secret = { name: NAME, namespace: NAMESPACE.edge };
  await api.delete('Secret', secret);
  await api.create('Secret', { metadata: secret, stringData: { 'tls.crt': certificate, 'tls.key': key } });
  const objects = fixtureObjects({
    name: NAME,
    namespace: NAMESPACE.edge,
    image: imageOf(settings.images, 'agent-runtime'),
    port: PORT,
    command: ['node', '-e', SERVER],
    mounts: [{ path: '/etc/tls', secret: NAME }],
    revision: crypto.randomUUID(),
  });
  const configuration = {
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind: 'MutatingWebhookConfiguration',
    metadata: { name: 'e2e-pod-gate' },
    webhooks: [
      {
        name: 'pod-gate.e2e.uswarm.dev',
        admissionReviewVersions: ['v1'],
        sideEffects: 'None',
        failurePolicy: 'Fail',
        rules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] }],
        namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespace } },
        clientConfig: {
          service: { name: NAME, namespace: NAMESPACE.edge, port: PORT, path: '/' },
          caBundle: Buffer.from(ca).toString('base64'),
        },
      },
    ],
  };
  const list = (items: object[]): string => JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
  await tools.kubectl(['apply', '-f', '-'], { input: list(objects) });
  onClose(() =>
    tools.kubectl(['delete', '--ignore-not-found', '--wait=false', '-f', '-'], {
      input: list([...objects, configuration]),
    }),
  );
  await tools.kubectl(['rollout', 'status', '-n', NAMESPACE.edge, `deployment/${NAME}`, '--timeout=60s'], {
    timeoutMs: 70_000,
  });
  // Both take effect in the API server with a delay.
  const sees = (held: boolean): Promise<true> =>
    eventually(
      async () => {
        const { spec } = await tryPod(api, namespace);
        return (spec?.schedulingGates ?? []).length > 0 === held;
      },
      { description: `new pods in ${namespace} ${held ? 'held back' : 'let through'}`, timeoutMs: 60_000 },
    );
  await tools.kubectl(['apply', '-f', '-'], { input: list([configuration]) });
  await sees(true);
  return {
    open: async () => {
      await tools.kubectl(['delete', '-f', '-'], { input: list([configuration]) });
      await sees(false);
    },
  };
}
