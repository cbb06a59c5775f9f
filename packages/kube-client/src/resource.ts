/** A resource and its path on the API server. */
export interface Resource {
  group: string;
  version: string;
  plural: string;
  kind: string;
}

export const apiVersionOf = ({ group, version }: Resource): string => (group === '' ? version : `${group}/${version}`);

export interface ObjectName {
  name: string;
  namespace?: string | undefined;
}

/** Path to a collection or to an object in it. */
export function resourcePath(resource: Resource, namespace?: string, name?: string, subresource?: string): string {
  const parts = resource.group === '' ? ['api', resource.version] : ['apis', resource.group, resource.version];
  if (namespace !== undefined) parts.push('namespaces', namespace);
  parts.push(resource.plural);
  if (name !== undefined) parts.push(name);
  if (subresource !== undefined) parts.push(subresource);
  return `/${parts.map(encodeURIComponent).join('/')}`;
}
