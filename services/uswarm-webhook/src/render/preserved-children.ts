import { CHILD_GROUPS, childName, type KubernetesObject, type SyncRequest } from '@uswarm/contract/userswarm';
import { isOwned } from '../status/observed.js';
import { childLabels } from './labels.js';
import { OWN_ANNOTATIONS } from './revision.js';

// What is there must stay when a UserSwarm cannot be rendered: a child that is missing from the answer
// is deleted. The answer holds only fields that rendering would set, or the apply would take over others.

type Fields = Record<string, unknown>;

/** The fields of `spec` that rendering sets; a container is rendered whole. */
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
];

/** The UserSwarm's own children as they are; with `stopped`, without a pod. */
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

/** What the Deployment says of itself. */
export const ownAnnotations = ({ metadata }: KubernetesObject): Record<string, string> =>
  pick(metadata.annotations, OWN_ANNOTATIONS) as Record<string, string>;

/** The template of a Deployment as it is, without what rendering never sets. */
export function preservedTemplate(template: unknown): Fields {
  const { metadata, spec } = (template ?? {}) as Fields;
  return { metadata: pick(metadata, ['labels', 'annotations']), spec: pick(spec, POD_FIELDS) };
}

function pick(from: unknown, names: readonly string[]): Fields {
  const fields = (from ?? {}) as Fields;
  return Object.fromEntries(names.filter((name) => fields[name] !== undefined).map((name) => [name, fields[name]]));
}
