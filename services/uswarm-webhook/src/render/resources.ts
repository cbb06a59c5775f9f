import { canonicalQuantity, exceeds, type UserSwarmSpec } from '@uswarm/contract/userswarm';
import type { RuntimePods } from '../config/runtime-pods.js';

type Quantities = Record<string, string>;

/** The spec's resources, completed with the platform defaults that do not contradict them. */
export function renderResources(
  own: UserSwarmSpec['runtime']['resources'],
  defaults: RuntimePods['resources'],
): { requests?: Quantities; limits?: Quantities } {
  const ownRequests = canonical(own?.requests);
  const ownLimits = canonical(own?.limits);
  const limits = { ...defaults.limits, ...ownLimits };
  for (const [resource, request] of Object.entries(ownRequests)) {
    const limit = limits[resource];
    if (limit !== undefined && exceeds(request, limit)) limits[resource] = request;
  }
  const requests = { ...defaults.requests, ...ownRequests };
  for (const [resource, limit] of Object.entries(limits)) {
    const request = requests[resource];
    if (request !== undefined && exceeds(request, limit)) requests[resource] = limit;
  }
  return { ...unlessEmpty('requests', requests), ...unlessEmpty('limits', limits) };
}

function canonical(quantities: Record<string, string | undefined> = {}): Quantities {
  return Object.fromEntries(
    Object.entries(quantities).flatMap(([name, text]) => (text === undefined ? [] : [[name, canonicalQuantity(text)]])),
  );
}

function unlessEmpty<Key extends string>(key: Key, quantities: Quantities): Partial<Record<Key, Quantities>> {
  return Object.keys(quantities).length === 0 ? {} : ({ [key]: quantities } as Record<Key, Quantities>);
}
