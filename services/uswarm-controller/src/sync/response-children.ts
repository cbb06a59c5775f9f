import { CHILD_GROUPS, childName, type SyncResponse, type UserSwarm } from '@uswarm/contract/userswarm';
import { keyOf, type KubernetesObject } from '@uswarm/kube-client';
import { runsPod } from '../apply/apply-children.js';
import { runtimeNamespaceOf } from '../caches/caches.js';
import type { NamespaceScope } from '../caches/namespace-scope.js';
import { HookError } from '../hook/hook-error.js';
import { groupOf } from '../hook/validate-response.js';
import type { Observed } from './request.js';

/** @throws HookError if an object is not a child of this UserSwarm; no part of such a response is applied */
export function requireOwnChildren(
  response: SyncResponse,
  parent: KubernetesObject,
  scope: NamespaceScope | undefined,
): SyncResponse {
  const namespace = runtimeNamespaceOf(parent);
  const name = childName(parent.metadata.name);
  for (const { kind, metadata } of response.children) {
    const isOutside = scope === undefined || metadata.namespace !== namespace;
    if (!isOutside && metadata.name === name) continue;
    const what = `${kind} ${metadata.namespace}/${metadata.name}`;
    const why = isOutside ? 'is not in a namespace that this UserSwarm may use' : `is not named ${name}`;
    throw new HookError('invalid', `the webhook returned an invalid response: ${what} ${why}`);
  }
  return response;
}

/** A response that would stop or cut off a running runtime. It is reported also for a UserSwarm that is Ready. */
export class HarmfulResponse extends HookError {
  override name = 'HarmfulResponse';

  constructor(fault: string) {
    super('invalid', `the webhook returned an invalid response: ${fault}`);
  }
}

/**
 * A child that is missing from the response is deleted. The webhook lists all children of a running runtime, so a
 * response without them comes from a faulty or compromised one.
 *
 * @throws HarmfulResponse if the response would stop a runtime that is neither suspended nor being deleted, or cut it
 * off
 */
export function requireRunningChildren(response: SyncResponse, parent: KubernetesObject, observed: Observed): void {
  const { suspend = false } = (parent['spec'] ?? {}) as Partial<UserSwarm['spec']>;
  if (parent.metadata.deletionTimestamp !== undefined || suspend) return;
  const key = `${runtimeNamespaceOf(parent)}/${childName(parent.metadata.name)}`;
  const running = observed['Deployment.apps/v1'][key];
  if (running === undefined || running.metadata.deletionTimestamp !== undefined || !runsPod(running)) return;
  const listed = new Map(
    (response.children as KubernetesObject[]).map((child) => [`${groupOf(child)} ${keyOf(child)}`, child]),
  );
  for (const group of CHILD_GROUPS) {
    const child = observed[group][key];
    if (child === undefined) continue;
    const wanted = listed.get(`${group} ${key}`);
    const what = `${child.kind} ${key}`;
    if (wanted === undefined) throw new HarmfulResponse(`it would delete the ${what} of a running runtime`);
    if (wanted.kind === 'Deployment' && !runsPod(wanted))
      throw new HarmfulResponse(`it would stop the ${what}, which is not suspended`);
  }
}
