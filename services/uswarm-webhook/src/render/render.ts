import type { FailureReason, SyncRequest, SyncResponse, UserSwarmSpec } from '@uswarm/contract/userswarm';
import type { KubernetesObject } from '@uswarm/kube-types';
import type { Deployment } from '../observed/observed.js';
import { deriveStatus, type Rendering, type Status } from '../status/status.js';
import { renderDeployment } from './deployment.js';
import { InvalidSpecError } from './invalid-spec-error.js';
import { preservedChildren } from './preserved-children.js';
import { childIdentityOf } from './child-identity.js';
import { applyRollout } from './rollout.js';
import { renderService } from './service.js';
import { renderServiceAccount } from './service-account.js';
import type { RenderFacts, RenderSettings } from './settings.js';
import { allowedImage, checkPolicy, checkProvider, readSpec } from './spec.js';

/** Resync in seconds during a deletion, in case an event was missed. */
const DELETING_RESYNC_S = 5;
/** Resync in seconds for causes whose end no watch event reports. */
const WAITING_RESYNC_S = 5;
/** Resync in seconds for the database; together with the probe period, a change is reported within 10 s. */
const DATABASE_RESYNC_S = 3;
/** Resync in seconds after refused writes, whose cause is not watched. */
const UNWATCHED: ReadonlySet<string> = new Set([
  'NamespaceMissing',
  'NameConflict',
  'QuotaExceeded',
  'Forbidden',
  'ApplyFailed',
]);

/**
 * Renders the response to one sync request: the desired children and the status. Pure: equal inputs give equal bytes. A
 * UserSwarm that cannot be rendered keeps its children.
 */
export function render(request: SyncRequest, settings: RenderSettings, facts: RenderFacts): SyncResponse {
  const { rendering, children } = renderChildren(request, settings);
  const status = deriveStatus(request, rendering, facts);
  if (request.finalizing) return finalize(request, status);
  const resyncAfterSeconds = resyncAfter(status, facts);
  return {
    status: { ...status },
    children: children as SyncResponse['children'],
    ...(resyncAfterSeconds === undefined ? {} : { resyncAfterSeconds }),
  };
}

/** The response during a deletion: no children. Finalized when the request has no children and no pods. */
function finalize({ children, related }: SyncRequest, status: Status): SyncResponse {
  const observed = [...Object.values(children), related['Pod.v1'] ?? {}];
  const finalized = observed.every((group) => Object.keys(group).length === 0);
  return {
    status: { ...status },
    children: [],
    ...(finalized ? {} : { resyncAfterSeconds: DELETING_RESYNC_S }),
    finalized,
  };
}

interface Rendered {
  rendering: Rendering;
  children: KubernetesObject[];
}

function renderChildren(request: SyncRequest, settings: RenderSettings): Rendered {
  const { parent } = request;
  let spec: UserSwarmSpec | undefined;
  try {
    spec = readSpec(parent);
    checkPolicy(parent, spec, settings.policy);
    const image = allowedImage(spec, settings.image, settings.policy);
    checkProvider(spec, image, settings);
    const identity = childIdentityOf(parent, spec);
    const desired = renderDeployment({ parent, spec, image, settings });
    const { deployment, preservedImage, revisions, queued } = applyRollout({ request, spec, desired, settings });
    const children = [renderServiceAccount(identity), renderService(identity, spec.runtime.port)];
    const fields = {
      image: preservedImage ?? image,
      deployment: (deployment ?? desired) as Deployment,
      revisions,
      queued,
    };
    return {
      rendering: { spec, ...fields },
      children: deployment === undefined ? children : [...children, deployment],
    };
  } catch (error) {
    // A suspension applies even if the rest of the spec is invalid.
    const suspend = spec?.suspend ?? (parent.spec as Partial<UserSwarmSpec> | undefined)?.suspend === true;
    return { rendering: { failure: failureOf(error), suspend }, children: preservedChildren(request, suspend) };
  }
}

function failureOf(error: unknown): { reason: FailureReason; message: string } {
  if (error instanceof InvalidSpecError) return { reason: error.reason, message: error.message };
  // An internal error's message may contain values.
  return { reason: 'RenderingFailed', message: 'The children cannot be rendered.' };
}

function resyncAfter({ phase, conditions }: Status, { database }: RenderFacts): number | undefined {
  if (phase !== 'Progressing') return undefined;
  if (database !== 'unset') return DATABASE_RESYNC_S;
  const ready = conditions.find(({ type }) => type === 'Ready');
  return UNWATCHED.has(ready?.reason ?? '') ? WAITING_RESYNC_S : undefined;
}
