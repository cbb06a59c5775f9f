import { createHash } from 'node:crypto';
import { API_GROUP, LABEL } from '@uswarm/contract/userswarm';
import type { KubernetesObject, OwnerReference } from '@uswarm/kube-client';
import { canonical } from '../canonical.js';

/** Hash of a child's last applied content, so that a restarted controller does not apply it again. */
export const APPLIED_ANNOTATION = `${API_GROUP}/applied-hash`;

/**
 * The content that is written for a desired child: its own fields, our owner reference, the label that the watches
 * select by, and the hash of all of it. Fields that the server sets are left out.
 */
export function desiredChild(child: KubernetesObject, owner: OwnerReference): KubernetesObject {
  const { status: _status, metadata, ...fields } = child;
  const { [APPLIED_ANNOTATION]: _hash, ...annotations } = metadata.annotations ?? {};
  const desired = withoutNulls({
    ...fields,
    metadata: {
      name: metadata.name,
      namespace: metadata.namespace,
      labels: { ...metadata.labels, [LABEL.controllerUid]: owner.uid },
      ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
      ownerReferences: [owner],
    },
  }) as KubernetesObject;
  const hash = createHash('sha256').update(canonical(desired)).digest('base64url').slice(0, 22);
  return { ...desired, metadata: { ...desired.metadata, annotations: { ...annotations, [APPLIED_ANNOTATION]: hash } } };
}

export function ownerReferenceTo(parent: KubernetesObject): OwnerReference {
  const { name, uid = '' } = parent.metadata;
  const { apiVersion, kind } = parent;
  return { apiVersion, kind, name, uid, controller: true, blockOwnerDeletion: true };
}

function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (typeof value !== 'object' || value === null) return value;
  const fields = Object.entries(value).filter(([, field]) => field !== null && field !== undefined);
  return Object.fromEntries(fields.map(([name, field]) => [name, withoutNulls(field)]));
}
