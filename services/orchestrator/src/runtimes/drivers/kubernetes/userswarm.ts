import {
  DEFAULT_RUNTIME_PORT,
  rolloutGrantOf,
  LABEL,
  ORCHESTRATOR_MANAGER,
  ROLLOUT,
  runtimeAddress,
  UNREACHABLE_SINCE,
  type UserSwarm,
} from '@uswarm/contract/userswarm';
import type { RuntimeObservation } from '../driver.js';

export type StoredUserSwarm = Omit<UserSwarm, 'apiVersion' | 'kind'>;

export const MANAGED = `${LABEL.managedBy}=${ORCHESTRATOR_MANAGER}`;

/** The orchestrator leaves any other UserSwarm unchanged. */
export function isManaged({ metadata }: StoredUserSwarm): boolean {
  return metadata.labels?.[LABEL.managedBy] === ORCHESTRATOR_MANAGER;
}

export function isTerminating({ metadata }: StoredUserSwarm): boolean {
  return metadata.deletionTimestamp !== undefined;
}

/** True if the controller has started the pod for the latest specification and waits until it is ready. */
export const isStarting = ({ phase, reason, current }: RuntimeObservation): boolean =>
  phase === 'Progressing' && reason === 'Starting' && current;

export function observe(userSwarm: StoredUserSwarm): RuntimeObservation {
  const rollout = rolloutOf(userSwarm);
  return {
    ...observeRuntime(userSwarm),
    ...(rollout === undefined ? {} : { rollout }),
    ...(userSwarm.metadata.annotations?.[UNREACHABLE_SINCE] === undefined ? {} : { unreachable: true }),
  };
}

function rolloutOf({ metadata, status }: StoredUserSwarm): RuntimeObservation['rollout'] {
  const pending = status?.pendingRevision;
  if (pending === undefined) return undefined;
  const requested = metadata.annotations?.[ROLLOUT.wanted] === pending;
  return { requested, granted: requested && rolloutGrantOf(metadata, status)?.revision === pending };
}

function observeRuntime(userSwarm: StoredUserSwarm): RuntimeObservation {
  const { metadata, spec, status } = userSwarm;
  const current = status?.observedGeneration === metadata.generation;
  const unreachable = { address: null, current };
  if (isTerminating(userSwarm)) return { ...unreachable, phase: 'Deleting', reason: 'Deleting' };
  // Takes effect before the status changes: the pod can stop at any time.
  if (spec.suspend) return { ...unreachable, phase: 'Suspended', reason: 'Suspended' };
  const phase = status?.phase;
  if (phase === undefined) return { ...unreachable, phase: 'Pending', reason: '' };
  if (phase === 'Suspended') return { ...unreachable, phase: 'Progressing', reason: 'Resuming' };
  if (phase === 'Ready') return { phase, reason: '', address: address(userSwarm), current };
  const reason = status?.conditions?.find(({ type }) => type === 'Ready')?.reason ?? '';
  return { ...unreachable, phase, reason };
}

function address({ metadata, spec, status }: StoredUserSwarm): string {
  const port = spec.runtime?.port ?? DEFAULT_RUNTIME_PORT;
  return status?.address ?? runtimeAddress(metadata.name, spec.placement.runtimeNamespace, port);
}
