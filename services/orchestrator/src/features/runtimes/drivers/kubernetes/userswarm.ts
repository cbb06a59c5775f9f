import {
  DEFAULT_RUNTIME_PORT,
  rolloutGrantOf,
  LABEL,
  ORCHESTRATOR_MANAGER,
  ROLLOUT,
  runtimeAddress,
  type UserSwarm,
} from '@uswarm/contract/userswarm';
import type { RuntimeObservation } from '../driver.js';

/** A UserSwarm as the API server has it. */
export type StoredUserSwarm = Omit<UserSwarm, 'apiVersion' | 'kind'>;

/** Finds the UserSwarms that orchestrators look after. */
export const OURS = `${LABEL.managedBy}=${ORCHESTRATOR_MANAGER}`;

/** Whether an orchestrator made it; any other is none of our business. */
export function isOurs({ metadata }: StoredUserSwarm): boolean {
  return metadata.labels?.[LABEL.managedBy] === ORCHESTRATOR_MANAGER;
}

export function isTerminating({ metadata }: StoredUserSwarm): boolean {
  return metadata.deletionTimestamp !== undefined;
}

/** What a UserSwarm says of its runtime. spec: supporting §3 */
export function observe(swarm: StoredUserSwarm): RuntimeObservation {
  const rollout = rolloutOf(swarm);
  return { ...observeRuntime(swarm), ...(rollout === undefined ? {} : { rollout }) };
}

function rolloutOf({ metadata, status }: StoredUserSwarm): RuntimeObservation['rollout'] {
  const pending = status?.pendingRevision;
  if (pending === undefined) return undefined;
  const wanted = metadata.annotations?.[ROLLOUT.wanted] === pending;
  return { wanted, granted: wanted && rolloutGrantOf(metadata, status)?.revision === pending };
}

function observeRuntime(swarm: StoredUserSwarm): RuntimeObservation {
  const { metadata, spec, status } = swarm;
  const current = status?.observedGeneration === metadata.generation;
  const unreachable = { address: null, current };
  if (isTerminating(swarm)) return { ...unreachable, phase: 'Deleting', reason: 'Deleting' };
  // At once, whatever the status still says: what runs may end at any moment.
  if (spec.suspend) return { ...unreachable, phase: 'Suspended', reason: 'Suspended' };
  const phase = status?.phase;
  if (phase === undefined) return { ...unreachable, phase: 'Pending', reason: '' };
  if (phase === 'Suspended') return { ...unreachable, phase: 'Progressing', reason: 'Resuming' };
  if (phase === 'Ready') return { phase, reason: '', address: address(swarm), current };
  const reason = status?.conditions?.find(({ type }) => type === 'Ready')?.reason ?? '';
  return { ...unreachable, phase, reason };
}

function address({ metadata, spec, status }: StoredUserSwarm): string {
  const port = spec.runtime?.port ?? DEFAULT_RUNTIME_PORT;
  return status?.address ?? runtimeAddress(metadata.name, spec.placement.runtimeNamespace, port);
}
