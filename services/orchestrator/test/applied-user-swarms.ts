import { isDeepStrictEqual } from 'node:util';
import type { KubernetesObject, ManagedFields } from '@uswarm/kube-client';
import type { ScriptedApi } from '@uswarm/testkit/scripted-api';

export const USER_SWARMS = '/apis/uswarm.dev/v1alpha1/userswarms';
const MANAGER = 'uswarm-orchestrator';

/**
 * Makes the scripted API server act as a real one: it records who owns an applied UserSwarm's fields, and keeps an
 * object that an apply does not change. Only the orchestrator applies UserSwarms.
 */
export function recordApplies(server: ScriptedApi): void {
  server.script(({ method, path, contentType, body }, response) => {
    if (method !== 'PATCH' || contentType !== 'application/apply-patch+yaml') return undefined;
    const before = server.get(USER_SWARMS, path.slice(USER_SWARMS.length + 1));
    const { spec, metadata } = body as unknown as KubernetesObject & { spec: object };
    const owned = { metadata: { labels: metadata.labels, annotations: metadata.annotations }, spec };
    const managedFields: ManagedFields[] = [{ manager: MANAGER, operation: 'Apply', fieldsV1: fieldsOf(owned) }];
    const generation = Number(before?.metadata.generation ?? 0) + (isDeepStrictEqual(before?.['spec'], spec) ? 0 : 1);
    const after = { ...before, ...body, metadata: { ...before?.metadata, ...metadata, generation, managedFields } };
    const stored =
      before !== undefined && isDeepStrictEqual(before, after)
        ? before
        : server.put(USER_SWARMS, after as unknown as KubernetesObject);
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(stored));
    return true;
  });
}

function fieldsOf(value: object): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, below]: [string, unknown]) => {
      if (below === undefined) return [];
      return [[`f:${key}`, typeof below === 'object' && below !== null ? fieldsOf(below) : {}]];
    }),
  );
}
