import { rolloutGrantOf, START, START_QUEUED, type SyncRequest, type UserSwarmSpec } from '@uswarm/contract/userswarm';
import type { KubernetesObject } from '@uswarm/kube-types';
import { type Deployment, isDeleting, observe } from '../observed/observed.js';
import { podProblem } from '../status/progress.js';
import { RUNTIME_CONTAINER } from '../observed/runtime-container.js';
import { deploymentOf } from './deployment.js';
import { preservedTemplate, ownAnnotations } from './preserved-children.js';
import { childIdentityOf } from './child-identity.js';
import { PLATFORM_REVISION, REVISION, SPEC_REVISION, TEMPLATE } from '../observed/annotations.js';
import { revisionOf } from './revision.js';
import type { RenderSettings } from './settings.js';

// Decides when a running runtime gets a new pod template. docs/adr/0014-roll-out-to-idle-runtimes.md

/** The pod's platform revisions: the current one and the pending one. */
export interface Revisions {
  revision?: string;
  pendingRevision?: string;
}

export interface Rollout {
  /** The Deployment to write; undefined if the runtime waits for a start slot. */
  deployment: KubernetesObject | undefined;
  /** The preserved template, if it is not the desired one. */
  preservedImage: string | undefined;
  revisions: Revisions;
  /** The start limiter has queued the runtime. */
  queued: boolean;
}

export interface RolloutInput {
  request: SyncRequest;
  spec: UserSwarmSpec;
  /** The desired Deployment. */
  desired: KubernetesObject;
  settings: RenderSettings;
}

/** Returns the desired Deployment, or one that keeps the running template until the rollout is granted. */
export function applyRollout(input: RolloutInput): Rollout {
  const { request, spec, desired, settings } = input;
  const { deployment } = observe(request, spec.placement.runtimeNamespace);
  const revisions = deployment === undefined && isDeleting(request) ? {} : revisionsOf(deployment, desired, settings);
  if (!spec.suspend && waitsToStart(request, deployment)) {
    const stopped = { ...desired, spec: { ...(desired['spec'] as object), replicas: 0 } };
    const known = deployment === undefined ? {} : revisions;
    return { deployment: deployment && stopped, preservedImage: undefined, revisions: known, queued: true };
  }
  const running = isRunning(deployment) && !mayChange(input, deployment) ? deployment : undefined;
  if (running === undefined) return { deployment: desired, preservedImage: undefined, revisions, queued: false };
  const preserved = preserve(input, running);
  return { deployment: preserved.deployment, preservedImage: preserved.image, revisions, queued: false };
}

const isRunning = (deployment: Deployment | undefined): deployment is Deployment =>
  deployment !== undefined && deployment.metadata.deletionTimestamp === undefined && deployment.spec?.replicas !== 0;

const waitsToStart = ({ parent }: SyncRequest, deployment: Deployment | undefined): boolean =>
  parent.metadata.annotations?.[START] === START_QUEUED && !isRunning(deployment);

/** Revisions for the status, from the Deployment's annotations. */
function revisionsOf(
  deployment: Deployment | undefined,
  desired: KubernetesObject,
  { platformRevision }: RenderSettings,
): Revisions {
  // The Deployment is created in this reconcile; reporting its revision now saves a status write.
  if (deployment === undefined) return { revision: platformRevision };
  const { annotations = {} } = deployment.metadata;
  const revision = annotations[PLATFORM_REVISION];
  const isCurrent = revision === platformRevision || annotations[REVISION] === desired.metadata.annotations?.[REVISION];
  if (isCurrent) return { revision: platformRevision };
  return { ...(revision === undefined ? {} : { revision }), pendingRevision: platformRevision };
}

/** Whether the running pod may be replaced, or would not be affected. */
function mayChange({ request, spec, desired, settings }: RolloutInput, deployment: Deployment): boolean {
  const { platformRevision, rolloutGate } = settings;
  const { annotations = {} } = deployment.metadata;
  const template = annotations[REVISION];
  const { [SPEC_REVISION]: desiredSpec = '', [REVISION]: next } = desired.metadata.annotations ?? {};
  if (!rolloutGate || spec.suspend || isDeleting(request)) return true;
  // With an equal platform revision, the difference is a manual change of this Deployment.
  if (template === undefined || annotations[PLATFORM_REVISION] === platformRevision) return true;
  if (template === next) return true;
  // The author changed the spec.
  if ((annotations[SPEC_REVISION] ?? desiredSpec) !== desiredSpec) return true;
  return isForced(request, platformRevision) || hasNothingToLose(request, spec, deployment);
}

function isForced({ parent }: SyncRequest, platformRevision: string): boolean {
  const rolloutGrant = rolloutGrantOf(parent.metadata, parent.status);
  return rolloutGrant?.revision === platformRevision && rolloutGrant.forced;
}

/** A runtime that fails to start may get the new template immediately. */
function hasNothingToLose(request: SyncRequest, spec: UserSwarmSpec, deployment: Deployment): boolean {
  if ((deployment.status?.readyReplicas ?? 0) > 0) return false;
  return podProblem(request, spec.placement.runtimeNamespace, deployment, '') !== undefined;
}

/** The Deployment with its current template. */
function preserve(
  { request, spec, desired }: RolloutInput,
  deployment: Deployment,
): { deployment: KubernetesObject; image: string | undefined } {
  const known = ownAnnotations(deployment);
  const recorded = recordedTemplate(known);
  const { template } = (deployment.spec ?? {}) as { template?: unknown };
  const preserved = recorded ?? preservedTemplate(template);
  // A release without the gate did not store the spec's hash.
  const desiredSpec = desired.metadata.annotations?.[SPEC_REVISION] ?? '';
  const annotations = { ...known, [SPEC_REVISION]: known[SPEC_REVISION] ?? desiredSpec };
  return {
    deployment: deploymentOf(childIdentityOf(request.parent, spec), { template: preserved, annotations, pods: 1 }),
    image: imageOf(preserved),
  };
}

/** The stored template; undefined if it is missing or is not the applied one. */
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
