import { CHILD_GROUPS, childName, type SyncRequest } from '@uswarm/contract/userswarm';
import type { KubernetesObject } from '@uswarm/kube-types';
import { isOwned } from '../observed/observed.js';
import { childLabels } from './labels.js';
import { OWN_ANNOTATIONS } from '../observed/annotations.js';

// Existing children are preserved when a UserSwarm cannot be rendered, because a child that is missing from the response
// is deleted. The response has only the fields that rendering sets; otherwise the apply would take over other fields.

type Fields = Record<string, unknown>;

/** The fields of `spec` that rendering sets; containers are rendered completely. */
const SERVICE_FIELDS = ['type', 'selector', 'ports'];
const DEPLOYMENT_FIELDS = [
  'replicas',
  'strategy',
  'progressDeadlineSeconds',
  'revisionHistoryLimit',
  'selector',
  'template',
];
const POD_FIELDS = [
  'serviceAccountName',
  'automountServiceAccountToken',
  'enableServiceLinks',
  'restartPolicy',
  'terminationGracePeriodSeconds',
  'securityContext',
  'containers',
  'volumes',
  'imagePullSecrets',
  'nodeSelector',
  'tolerations',
  'affinity',
  'topologySpreadConstraints',
  'priorityClassName',
  'runtimeClassName',
  'hostUsers',
];

/** The UserSwarm's observed children; with `stopped`, with 0 replicas. */
export function preservedChildren({ parent, children }: SyncRequest, stopped: boolean): KubernetesObject[] {
  const name = childName(parent.metadata.name);
  return CHILD_GROUPS.flatMap((group) =>
    Object.values(children[group])
      .filter((child) => child.metadata.name === name && isOwned(child, parent))
      .map((child) => reduce(child, parent.metadata.name, stopped)),
  );
}

function reduce(child: KubernetesObject, userSwarm: string, stopped: boolean): KubernetesObject {
  const { apiVersion, kind, metadata } = child;
  const annotations = ownAnnotations(child);
  const reduced = {
    apiVersion,
    kind,
    metadata: {
      name: metadata.name,
      ...(metadata.namespace === undefined ? {} : { namespace: metadata.namespace }),
      labels: childLabels(userSwarm),
      ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
    },
  };
  if (kind === 'ServiceAccount') return { ...reduced, ...pick(child, ['automountServiceAccountToken']) };
  if (kind === 'Service') return { ...reduced, spec: pick(child['spec'], SERVICE_FIELDS) };
  const spec = pick(child['spec'], DEPLOYMENT_FIELDS);
  return {
    ...reduced,
    spec: { ...spec, ...(stopped ? { replicas: 0 } : {}), template: preservedTemplate(spec['template']) },
  };
}

/** Our own annotations on the Deployment. */
export const ownAnnotations = ({ metadata }: KubernetesObject): Record<string, string> =>
  pick(metadata.annotations, OWN_ANNOTATIONS) as Record<string, string>;

/** A Deployment's observed template, reduced to the fields that rendering sets. */
export function preservedTemplate(template: unknown): Fields {
  const { metadata, spec } = (template ?? {}) as { metadata?: Fields; spec?: Fields };
  // The API server adds another policy to the pods that use DNS.
  const fields = spec?.['dnsPolicy'] === 'None' ? [...POD_FIELDS, 'dnsPolicy', 'dnsConfig', 'hostAliases'] : POD_FIELDS;
  return { metadata: pick(metadata, ['labels', 'annotations']), spec: pick(spec, fields) };
}

function pick(from: unknown, names: readonly string[]): Fields {
  const fields = (from ?? {}) as Fields;
  return Object.fromEntries(names.filter((name) => fields[name] !== undefined).map((name) => [name, fields[name]]));
}
