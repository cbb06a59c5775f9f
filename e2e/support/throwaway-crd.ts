import { readFile } from 'node:fs/promises';
import { USERSWARM_PLURAL } from '@uswarm/contract/userswarm';
import { parse } from 'yaml';

/**
 * The CRD in another API group and without short names, so that it does not conflict with the original. Plain JSON: the
 * typed client drops the fields `x-kubernetes-…`.
 */
export async function throwawayCrd(group: string): Promise<object> {
  const file = new URL('../../crds/userswarms.uswarm.dev.yaml', import.meta.url);
  const crd = parse(await readFile(file, 'utf8')) as { spec: { names: Record<string, unknown> } };
  const { shortNames: _short, categories: _categories, ...names } = crd.spec.names;
  return { ...crd, metadata: { name: `${USERSWARM_PLURAL}.${group}` }, spec: { ...crd.spec, group, names } };
}
