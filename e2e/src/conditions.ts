import type { Condition, ConditionType, UserSwarm, UserSwarmPhase } from '@uswarm/contract/userswarm';
import type { Seen } from './watch.js';

export const conditionOf = (swarm: UserSwarm, type: ConditionType): Condition | undefined =>
  swarm.status?.conditions?.find((condition) => condition.type === type);

/** Its reason is what `kubectl get` shows as REASON. */
export const readyCondition = (swarm: UserSwarm): Condition | undefined => conditionOf(swarm, 'Ready');

/** Whether the status describes the current spec. */
const isCurrent = (swarm: UserSwarm): boolean => swarm.status?.observedGeneration === swarm.metadata.generation;

/** In this phase, for this reason when one is given, with the present spec seen. */
export function shows(phase: UserSwarmPhase, reason?: string): (swarm: UserSwarm | undefined) => boolean {
  return (swarm) =>
    swarm?.status?.phase === phase &&
    isCurrent(swarm) &&
    (reason === undefined || readyCondition(swarm)?.reason === reason);
}

/** The phases that were seen, in order, without repetitions. */
export const phasesSeen = (history: readonly Seen<UserSwarm>[]): string[] =>
  history
    .map(({ object }) => object?.status?.phase)
    .filter((phase) => phase !== undefined)
    .filter((phase, index, all) => phase !== all[index - 1]);
