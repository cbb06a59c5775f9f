import {
  type FailureReason,
  type KubernetesObject,
  type SyncRequest,
  type SyncResponse,
  type UserSwarmSpec,
} from '@uswarm/contract/userswarm';
import type { Deployment } from '../status/observed.js';
import { deriveStatus, type Rendering, type Status } from '../status/status.js';
import { renderDeployment } from './deployment.js';
import { InvalidSpecError } from './invalid-spec-error.js';
import { preservedChildren } from './preserved-children.js';
import { childIdentityOf } from './child-identity.js';
import { rollOut } from './rollout.js';
import { renderService } from './service.js';
import { renderServiceAccount } from './service-account.js';
import type { RenderFacts, RenderSettings } from './settings.js';
import { allowedImage, checkPolicy, checkProvider, readSpec } from './spec.js';

/** Seconds after which a deletion is looked at again, should an event have been missed. */
const DELETING_RESYNC_S = 5;
/** Seconds; for causes whose end nobody is told of. */
const WAITING_RESYNC_S = 5;
/** Seconds; with the probe's own period, an outage shows and ends in less than ten. */
const DATABASE_RESYNC_S = 3;
/** Refused writes: what stands in the way is not watched. */
const UNWATCHED: ReadonlySet<string> = new Set([
  'NamespaceMissing',
  'NameConflict',
  'QuotaExceeded',
  'Forbidden',
  'ApplyFailed',
]);

/**
 * The answer to one sync: what is to exist and what is the case. A pure function; equal inputs give
 * equal bytes. What cannot be rendered keeps the children it has. spec: supporting §4.2
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

/** Nothing is to exist any more; done once the request shows neither children nor, if it shows pods at all, a pod. */
function finalize({ children, related }: SyncRequest, status: Status): SyncResponse {
  const shown = [...Object.values(children), related['Pod.v1'] ?? {}];
  const finalized = shown.every((group) => Object.keys(group).length === 0);
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
    const wanted = renderDeployment({ parent, spec, image, settings });
    const { deployment, keptImage, revisions, queued } = rollOut({ request, spec, wanted, settings });
    const children = [renderServiceAccount(identity), renderService(identity, spec.runtime.port)];
    const shown = { image: keptImage ?? image, deployment: (deployment ?? wanted) as Deployment, revisions, queued };
    return { rendering: { spec, ...shown }, children: deployment === undefined ? children : [...children, deployment] };
  } catch (error) {
    // A suspension is obeyed even where the rest is refused.
    const suspend = spec?.suspend ?? (parent.spec as Partial<UserSwarmSpec> | undefined)?.suspend === true;
    return { rendering: { failure: failureOf(error), suspend }, children: preservedChildren(request, suspend) };
  }
}

function failureOf(error: unknown): { reason: FailureReason; message: string } {
  if (error instanceof InvalidSpecError) return { reason: error.reason, message: error.message };
  // What went wrong inside may quote values.
  return { reason: 'RenderingFailed', message: 'The children cannot be rendered.' };
}

function resyncAfter({ phase, conditions }: Status, { database }: RenderFacts): number | undefined {
  if (phase !== 'Progressing') return undefined;
  if (database !== 'unset') return DATABASE_RESYNC_S;
  const ready = conditions.find(({ type }) => type === 'Ready');
  return UNWATCHED.has(ready?.reason ?? '') ? WAITING_RESYNC_S : undefined;
}
