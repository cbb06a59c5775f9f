import {
  childName,
  type Condition,
  deletionMessage,
  type FailureReason,
  foreignFinalizers,
  FRAMEWORK_FINALIZERS,
  readyUntil,
  runtimeAddress,
  type SyncRequest,
  unreachableSince,
  type UserSwarmPhase,
  type UserSwarmSpec,
} from '@uswarm/contract/userswarm';
import type { Revisions } from '../render/rollout.js';
import type { RenderFacts } from '../render/settings.js';
import { type Finding, stampConditions, timeOf } from './conditions.js';
import { type Deployment, isDeleting, isOwned, livePods, observe, remainingObjects } from '../observed/observed.js';
import { DATABASE_UNREACHABLE, isAvailable, progressOf } from './progress.js';
import { shortened } from './shortened.js';

/** The result of rendering the spec. */
export type Rendering =
  | { spec: UserSwarmSpec; image: string; deployment: Deployment; revisions: Revisions; queued: boolean }
  | { failure: { reason: FailureReason; message: string }; suspend: boolean };

export interface Status {
  phase: UserSwarmPhase;
  image?: string;
  address?: string;
  revision?: string;
  pendingRevision?: string;
  conditions: Condition[];
}

/** Derives the whole status from the observed objects. Pure: equal inputs give equal bytes. */
export function deriveStatus(request: SyncRequest, rendering: Rendering, facts: RenderFacts): Status {
  const { metadata, status } = request.parent;
  const previous = status?.conditions ?? [];
  const view = deriveView(request, rendering, facts, previous);
  const conditions = stampConditions(
    {
      Ready: { ...view.summary, status: view.phase === 'Ready' ? 'True' : 'False' },
      ConfigValid: view.config,
      DependenciesReachable: view.dependencies,
      RuntimeAvailable: view.runtime,
      Suspended: view.suspended,
      UpToDate: upToDate(rendering),
      ...(view.summary.reason === 'Unreachable' ? { Reachable: { ...view.summary, status: 'False' } } : {}),
    },
    { previous, generation: metadata.generation, now: facts.now },
  );
  return { phase: view.phase, ...runtimeFields(request, rendering), ...revisionFields(request, rendering), conditions };
}

interface View {
  phase: UserSwarmPhase;
  summary: { reason: string; message: string };
  config: Finding;
  dependencies: Finding;
  runtime: Finding;
  suspended: Finding;
}

const AVAILABLE = { reason: 'Available', message: 'The runtime is ready.' };
const SUSPENDED = { reason: 'Suspended', message: 'The runtime is suspended.' };
const RUNNING: Finding = { status: 'False', reason: 'NotSuspended', message: 'The runtime is not suspended.' };
const VALID: Finding = { status: 'True', reason: 'Valid', message: 'The specification is valid.' };

function deriveView(
  request: SyncRequest,
  rendering: Rendering,
  facts: RenderFacts,
  previous: readonly Condition[],
): View {
  const suspend = 'failure' in rendering ? rendering.suspend : rendering.spec.suspend;
  const available = availability(request, rendering);
  const wasReady = previous.some(({ type, status }) => type === 'Ready' && status === 'True');
  // A runtime that was Ready has reached its database. A later outage does not change its status.
  const blocked = facts.database === 'unreachable' && !(available && wasReady);
  const { phase, summary } = summarise(request, rendering, { suspend, available, blocked, facts });
  return {
    phase,
    summary,
    config: 'failure' in rendering ? { ...rendering.failure, status: 'False' } : VALID,
    dependencies: dependencies(facts),
    runtime: available ? { ...AVAILABLE, status: 'True' } : { ...summary, status: 'False' },
    suspended: suspend ? { ...SUSPENDED, status: 'True' } : RUNNING,
  };
}

interface Availability {
  suspend: boolean;
  available: boolean;
  blocked: boolean;
  facts: RenderFacts;
}

/** The first matching phase in order of precedence, and the reason for the REASON column. */
function summarise(
  request: SyncRequest,
  rendering: Rendering,
  { suspend, available, blocked, facts }: Availability,
): Pick<View, 'phase' | 'summary'> {
  if (isDeleting(request)) return { phase: 'Deleting', summary: { reason: 'Deleting', message: deletion(request) } };
  if ('failure' in rendering) return { phase: 'Error', summary: rendering.failure };
  if (suspend) return { phase: 'Suspended', summary: SUSPENDED };
  if (available && !blocked) return { phase: 'Ready', summary: unreachable(request) ?? AVAILABLE };
  if (available) return { phase: 'Progressing', summary: DATABASE_UNREACHABLE };
  const namespace = rendering.spec.placement.runtimeNamespace;
  const observed = observe(request, namespace);
  const { image, queued } = rendering;
  const input = { request, namespace, observed, image, queued, database: facts.database, now: facts.now };
  return { phase: 'Progressing', summary: withHistory(progressOf(input), request, facts.now) };
}

/** Leaves room for the following sentence. */
const MAX_CAUSE = 900;

/** Appends until when the runtime was Ready, if it was. */
function withHistory<T extends { message: string }>(progress: T, { parent: { status } }: SyncRequest, now: Date): T {
  const wasReady = status?.conditions?.some(({ type, status: is }) => type === 'Ready' && is === 'True') ?? false;
  const until = wasReady ? timeOf(now) : readyUntil(status);
  if (until === undefined) return progress;
  const { message } = progress;
  const cause = message.length > MAX_CAUSE ? shortened(message, MAX_CAUSE + 1) : message.replace(/\.?$/, '.');
  return { ...progress, message: `${cause} It was Ready until ${until}.` };
}

/** The orchestrator's report on a runtime that Kubernetes finds ready. */
function unreachable({ parent }: SyncRequest): View['summary'] | undefined {
  const since = unreachableSince(parent.metadata);
  const message = `The pod is ready, but the orchestrator has not reached the runtime since ${since}.`;
  return since === undefined ? undefined : { reason: 'Unreachable', message };
}

const deletion = (request: SyncRequest): string =>
  deletionMessage(remainingObjects(request), foreignFinalizers(request.parent.metadata, FRAMEWORK_FINALIZERS));

function availability(request: SyncRequest, rendering: Rendering): boolean {
  if (isDeleting(request)) return false;
  if (!('failure' in rendering)) {
    const { runtimeNamespace } = rendering.spec.placement;
    const pods = livePods(request, runtimeNamespace);
    const available = isAvailable(observe(request, runtimeNamespace), rendering.deployment, pods);
    return !rendering.spec.suspend && !rendering.queued && available;
  }
  // Without a valid spec, the existing Deployment determines availability.
  const name = childName(request.parent.metadata.name);
  const deployment = Object.values(request.children['Deployment.apps/v1']).find(
    (child) => child.metadata.name === name && isOwned(child, request.parent),
  );
  const namespace = deployment?.metadata.namespace;
  if (deployment === undefined || namespace === undefined) return false;
  return isAvailable(observe(request, namespace), deployment, livePods(request, namespace));
}

function dependencies({ database }: RenderFacts): Finding {
  if (database === 'unreachable') return { ...DATABASE_UNREACHABLE, status: 'False' };
  if (database === 'unset')
    return { status: 'True', reason: 'NotConfigured', message: 'No runtime database is configured.' };
  return { status: 'True', reason: 'Reachable', message: 'The database is reachable.' };
}

/** The runtime's image and address; the stored ones if the spec is invalid. */
function runtimeFields({ parent }: SyncRequest, rendering: Rendering): Pick<Status, 'image' | 'address'> {
  if ('failure' in rendering) {
    const { image, address } = parent.status ?? {};
    return { ...(image === undefined ? {} : { image }), ...(address === undefined ? {} : { address }) };
  }
  const { placement, runtime } = rendering.spec;
  return {
    image: rendering.image,
    address: runtimeAddress(parent.metadata.name, placement.runtimeNamespace, runtime.port),
  };
}

/** True if the pod has the current platform revision. */
function upToDate(rendering: Rendering): Finding {
  if ('failure' in rendering) {
    return {
      status: 'Unknown',
      reason: 'NotRendered',
      message: 'The desired pod is unknown because the spec was not rendered.',
    };
  }
  if (rendering.revisions.pendingRevision === undefined) {
    return { status: 'True', reason: 'UpToDate', message: 'The pod has the current platform revision.' };
  }
  const message = 'A new platform revision is pending until the runtime is idle.';
  return { status: 'False', reason: 'RolloutPending', message };
}

/** The revisions for the status; the stored one if the spec is invalid. */
function revisionFields({ parent }: SyncRequest, rendering: Rendering): Revisions {
  if (!('failure' in rendering)) return rendering.revisions;
  const { revision } = parent.status ?? {};
  return revision === undefined ? {} : { revision };
}
