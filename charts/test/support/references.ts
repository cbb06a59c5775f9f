import { RUNTIME_STORES_SECRET } from '@uswarm/contract/userswarm';
import { containersOf, find, type Manifest, type PodTemplate, podTemplates } from './rendering.js';

interface Items {
  items?: { key: string }[];
}
interface Volume {
  name: string;
  secret?: Items & { secretName: string };
  configMap?: Items & { name: string };
}

const one = (kind: string, namespace: string, name: string, key = ''): string =>
  `${kind} ${namespace}/${name} ${key}`.trimEnd();

const pullSecrets = (namespace: string, secrets: readonly { name: string }[] = []): string[] =>
  secrets.map(({ name }) => one('Secret', namespace, name, '.dockerconfigjson'));

function ofVolume(namespace: string, { secret, configMap }: Volume): string[] {
  const source = secret ? { kind: 'Secret', name: secret.secretName, ...secret } : undefined;
  const { kind, name, items } = source ?? { kind: 'ConfigMap', name: '', ...configMap };
  if (name === '') return [];
  return items === undefined ? [one(kind, namespace, name)] : items.map(({ key }) => one(kind, namespace, name, key));
}

function ofPod(namespace: string, pod: PodTemplate): string[] {
  const variables = containersOf(pod).flatMap(({ env = [] }) =>
    env.flatMap(({ valueFrom }) => {
      const ref = valueFrom?.secretKeyRef;
      return ref === undefined ? [] : [one('Secret', namespace, ref.name, ref.key)];
    }),
  );
  const volumes = ((pod.spec.volumes ?? []) as Volume[]).flatMap((volume) => ofVolume(namespace, volume));
  return [...variables, ...volumes, ...pullSecrets(namespace, pod.spec.imagePullSecrets)];
}

/** Runtime pods' references, from the webhook's environment. */
function ofRuntimes(manifests: readonly Manifest[]): string[] {
  const webhook = find(manifests, 'Deployment', 'uswarm-webhook')['spec'].template.spec.containers[0];
  const env = webhook.env as { name: string; value?: string; valueFrom?: { secretKeyRef?: { key: string } } }[];
  const pods = JSON.parse(env.find(({ name }) => name === 'RUNTIME_PODS')!.value!) as {
    imagePullSecrets?: { name: string }[];
    trustedCA?: { configMap: string; key: string };
  };
  const policy = find(manifests, 'ConfigMap', 'uswarm-policy')['data'] as Record<string, string>;
  const lines = (list: string): string[] => policy[list]!.split('\n').filter((line) => line !== '');
  const stores = env.filter(({ name, valueFrom }) => valueFrom?.secretKeyRef?.key === name);
  return lines('runtimeNamespaces').flatMap((namespace) => [
    ...pullSecrets(namespace, pods.imagePullSecrets),
    ...(pods.trustedCA === undefined
      ? []
      : [one('ConfigMap', namespace, pods.trustedCA.configMap, pods.trustedCA.key)]),
    ...lines('sharedEnvSecrets').map((name) => one('Secret', namespace, name)),
    ...stores.map(({ name }) => one('Secret', namespace, RUNTIME_STORES_SECRET, name)),
  ]);
}

/** Secrets and ConfigMaps with the keys that the release and runtimes refer to. */
export function referencesOf(manifests: readonly Manifest[], namespace = 'backend'): string[] {
  const ingress = manifests
    .filter(({ kind }) => kind === 'Ingress')
    .flatMap(({ spec }) => (spec.tls ?? []) as { secretName: string }[])
    .flatMap(({ secretName }) => ['tls.crt', 'tls.key'].map((key) => one('Secret', namespace, secretName, key)));
  const pods = podTemplates(manifests).flatMap((pod) => ofPod(namespace, pod));
  return [...new Set([...pods, ...ingress, ...ofRuntimes(manifests)])].toSorted();
}
