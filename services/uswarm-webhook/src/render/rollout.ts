import {
  rolloutGrantOf,
  type KubernetesObject,
  START,
  START_QUEUED,
  type SyncRequest,
  type UserSwarmSpec,
} from '@uswarm/contract/userswarm';
import { type Deployment, isDeleting, observe } from '../status/observed.js';
import { podProblem } from '../status/progress.js';
import { deploymentOf, RUNTIME_CONTAINER } from './deployment.js';
import { preservedTemplate, ownAnnotations } from './preserved-children.js';
import { childIdentityOf } from './child-identity.js';
import { PLATFORM_REVISION, REVISION, revisionOf, SPEC_REVISION, TEMPLATE } from './revision.js';
import type { RenderSettings } from './settings.js';

// When a runtime that runs gets another pod template. docs/adr/0014-roll-out-to-idle-runtimes.md

/** Of the platform: what the pod was made with, and what it waits for. */
export interface Revisions {
  revision?: string;
  pendingRevision?: string;
}

export interface Rollout {
  /** To be written; undefined where a runtime has to wait for its turn to start. */
  deployment: KubernetesObject | undefined;
  /** Of the template that is kept, where it is not the wanted one. */
  keptImage: string | undefined;
  revisions: Revisions;
  /** Others start first. */
  queued: boolean;
}

export interface RolloutInput {
  request: SyncRequest;
  spec: UserSwarmSpec;
  /** As it is to be in the end. */
  wanted: KubernetesObject;
  settings: RenderSettings;
}

/** What becomes of the wanted Deployment now: it is written, or the template that runs is kept for a while. */
export function rollOut(input: RolloutInput): Rollout {
  const { request, spec, wanted, settings } = input;
  const { deployment } = observe(request, spec.placement.runtimeNamespace);
  const revisions = deployment === undefined && isDeleting(request) ? {} : revisionsOf(deployment, wanted, settings);
  if (!spec.suspend && waitsToStart(request, deployment)) {
    const stopped = { ...wanted, spec: { ...(wanted['spec'] as object), replicas: 0 } };
    const known = deployment === undefined ? {} : revisions;
    return { deployment: deployment && stopped, keptImage: undefined, revisions: known, queued: true };
  }
  const running = isRunning(deployment) && !mayChange(input, deployment) ? deployment : undefined;
  if (running === undefined) return { deployment: wanted, keptImage: undefined, revisions, queued: false };
  const kept = keep(input, running);
  return { deployment: kept.deployment, keptImage: kept.image, revisions, queued: false };
}

const isRunning = (deployment: Deployment | undefined): deployment is Deployment =>
  deployment !== undefined && deployment.metadata.deletionTimestamp === undefined && deployment.spec?.replicas !== 0;

const waitsToStart = ({ parent }: SyncRequest, deployment: Deployment | undefined): boolean =>
  parent.metadata.annotations?.[START] === START_QUEUED && !isRunning(deployment);

/** Another platform is behind, as long as the Deployment says so: also while the new one is on its way to it. */
function revisionsOf(
  deployment: Deployment | undefined,
  wanted: KubernetesObject,
  { platformRevision }: RenderSettings,
): Revisions {
  // It is about to be made: said now, it need not be said in a status of its own.
  if (deployment === undefined) return { revision: platformRevision };
  const { annotations = {} } = deployment.metadata;
  const revision = annotations[PLATFORM_REVISION];
  const isCurrent = revision === platformRevision || annotations[REVISION] === wanted.metadata.annotations?.[REVISION];
  if (isCurrent) return { revision: platformRevision };
  return { ...(revision === undefined ? {} : { revision }), pendingRevision: platformRevision };
}

/** Whether what runs may be stopped for the wanted template, or would not be. */
function mayChange({ request, spec, wanted, settings }: RolloutInput, deployment: Deployment): boolean {
  const { platformRevision, rolloutGate } = settings;
  const { annotations = {} } = deployment.metadata;
  const template = annotations[REVISION];
  const { [SPEC_REVISION]: spoken = '', [REVISION]: next } = wanted.metadata.annotations ?? {};
  if (!rolloutGate || spec.suspend || isDeleting(request)) return true;
  // Where the platform is the same, a difference is what somebody did to this Deployment.
  if (template === undefined || annotations[PLATFORM_REVISION] === platformRevision) return true;
  if (template === next) return true;
  // Its author wants it otherwise, and knows.
  if ((annotations[SPEC_REVISION] ?? spoken) !== spoken) return true;
  return isForced(request, platformRevision) || hasNothingToLose(request, spec, deployment);
}

function isForced({ parent }: SyncRequest, platformRevision: string): boolean {
  const rolloutGrant = rolloutGrantOf(parent.metadata, parent.status);
  return rolloutGrant?.revision === platformRevision && rolloutGrant.forced;
}

/** What does not come up is not held to what it does not come up with. */
function hasNothingToLose(request: SyncRequest, spec: UserSwarmSpec, deployment: Deployment): boolean {
  if ((deployment.status?.readyReplicas ?? 0) > 0) return false;
  return podProblem(request, spec.placement.runtimeNamespace, deployment, '') !== undefined;
}

/** The same template once more. */
function keep(
  { request, spec, wanted }: RolloutInput,
  deployment: Deployment,
): { deployment: KubernetesObject; image: string | undefined } {
  const known = ownAnnotations(deployment);
  const recorded = recordedTemplate(known);
  const { template } = (deployment.spec ?? {}) as { template?: unknown };
  const kept = recorded ?? preservedTemplate(template);
  // A release that had no gate did not write down for which specification it rendered.
  const spoken = wanted.metadata.annotations?.[SPEC_REVISION] ?? '';
  const annotations = { ...known, [SPEC_REVISION]: known[SPEC_REVISION] ?? spoken };
  return {
    deployment: deploymentOf(childIdentityOf(request.parent, spec), { template: kept, annotations, pods: 1 }),
    image: imageOf(kept),
  };
}

/** Undefined where there is none, or it is not the one that was applied: then the Deployment speaks for itself. */
function recordedTemplate(annotations: Record<string, string>): object | undefined {
  const text = annotations[TEMPLATE];
  if (text === undefined) return undefined;
  try {
    const template: unknown = JSON.parse(text);
    return revisionOf(template) === annotations[REVISION] ? (template as object) : undefined;
  } catch {
    return undefined;
  }
}

function imageOf(template: object): string | undefined {
  const { spec } = template as { spec?: { containers?: { name?: string; image?: string }[] } };
  return spec?.containers?.find(({ name }) => name === RUNTIME_CONTAINER)?.image;
}
