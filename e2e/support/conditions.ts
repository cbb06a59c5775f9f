import type { Condition, ConditionType, UserSwarm, UserSwarmPhase } from '@uswarm/contract/userswarm';
import type { Seen } from './watch.js';

export const conditionOf = (swarm: UserSwarm, type: ConditionType): Condition | undefined =>
  swarm.status?.conditions?.find((condition) => condition.type === type);

/** `kubectl get` prints its reason in the column REASON. */
export const readyCondition = (swarm: UserSwarm): Condition | undefined => conditionOf(swarm, 'Ready');

/** True if the status describes the current spec. */
const isCurrent = (swarm: UserSwarm): boolean => swarm.status?.observedGeneration === swarm.metadata.generation;

/** True in this phase, with this reason if given, for the current spec. */
export function shows(phase: UserSwarmPhase, reason?: string): (swarm: UserSwarm | undefined) => boolean {
  return (swarm) =>
    swarm?.status?.phase === phase &&
    isCurrent(swarm) &&
    (reason === undefined || readyCondition(swarm)?.reason === reason);
}

/** The observed phases in order, without repetitions. */
export const phasesSeen = (history: readonly Seen<UserSwarm>[]): string[] =>
  history
    .map(({ object }) => object?.status?.phase)
    .filter((phase) => phase !== undefined)
    .filter((phase, index, all) => phase !== all[index - 1]);
