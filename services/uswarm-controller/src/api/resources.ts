import type { ChildGroup } from '@uswarm/contract/userswarm';

/** A kind of object and where the API server serves it. */
export interface Resource {
  group: string;
  version: string;
  plural: string;
  kind: string;
}

export const apiVersionOf = ({ group, version }: Resource): string => (group === '' ? version : `${group}/${version}`);

/** As the hook names a kind: `<Kind>.<version>` for the core group, else `<Kind>.<group>/<version>`. */
export const groupKey = (resource: Resource): string => `${resource.kind}.${apiVersionOf(resource)}`;

export const NAMESPACES: Resource = { group: '', version: 'v1', plural: 'namespaces', kind: 'Namespace' };
export const PODS: Resource = { group: '', version: 'v1', plural: 'pods', kind: 'Pod' };
export const EVENTS: Resource = { group: '', version: 'v1', plural: 'events', kind: 'Event' };
export const LEASES: Resource = { group: 'coordination.k8s.io', version: 'v1', plural: 'leases', kind: 'Lease' };

/** What children may be, in the order in which they are made: a pod needs its ServiceAccount. */
export const CHILD_RESOURCES: Readonly<Record<ChildGroup, Resource>> = {
  'ServiceAccount.v1': { group: '', version: 'v1', plural: 'serviceaccounts', kind: 'ServiceAccount' },
  'Service.v1': { group: '', version: 'v1', plural: 'services', kind: 'Service' },
  'Deployment.apps/v1': { group: 'apps', version: 'v1', plural: 'deployments', kind: 'Deployment' },
};

export interface ObjectName {
  name: string;
  namespace?: string | undefined;
}

/** The path of a collection, or of an object of it. */
export function resourcePath(resource: Resource, namespace?: string, name?: string, subresource?: string): string {
  const parts = resource.group === '' ? ['api', resource.version] : ['apis', resource.group, resource.version];
  if (namespace !== undefined) parts.push('namespaces', namespace);
  parts.push(resource.plural);
  if (name !== undefined) parts.push(name);
  if (subresource !== undefined) parts.push(subresource);
  return `/${parts.map(encodeURIComponent).join('/')}`;
}
