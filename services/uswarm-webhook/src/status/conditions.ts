import { type Condition, type ConditionType, CONDITIONS, REACHABLE_CONDITION } from '@uswarm/contract/userswarm';
import { shortened } from './shortened.js';

export interface Finding {
  status: Condition['status'];
  reason: string;
  message: string;
}

export interface RevisionStamp {
  /** The stored conditions. */
  previous: readonly Condition[];
  generation: number | undefined;
  now: Date;
}

type Optional = typeof REACHABLE_CONDITION;

const MAX_MESSAGE = 1024;

/** The time format of conditions: RFC 3339 in whole seconds. */
export const timeOf = (now: Date): string => `${now.toISOString().slice(0, 19)}Z`;

/**
 * All conditions in a fixed order, `Reachable` only if it is found. A transition time changes only with its condition's
 * status.
 */
export function stampConditions(
  findings: Readonly<Record<Exclude<ConditionType, 'Synced'>, Finding> & Partial<Record<Optional, Finding>>>,
  { previous, generation, now }: RevisionStamp,
): Condition[] {
  const time = timeOf(now);
  const optional: Optional[] = findings[REACHABLE_CONDITION] === undefined ? [] : [REACHABLE_CONDITION];
  return [...CONDITIONS, ...optional].map((type) => {
    const before = previous.find((condition) => condition.type === type);
    const finding = type === 'Synced' ? undefined : findings[type];
    if (finding === undefined) return before ?? notYetSynced(time, generation);
    const { status, reason, message } = finding;
    return {
      type,
      status,
      ...(generation === undefined ? {} : { observedGeneration: generation }),
      lastTransitionTime: before?.status === status ? before.lastTransitionTime : time,
      reason,
      message: shortened(message, MAX_MESSAGE),
    };
  });
}

/** The initial `Synced`, until the controller writes it. */
const notYetSynced = (time: string, generation: number | undefined): Condition => ({
  type: 'Synced',
  status: 'Unknown',
  ...(generation === undefined ? {} : { observedGeneration: generation }),
  lastTransitionTime: time,
  reason: 'NotYetSynced',
  message: 'The children have not been written yet.',
});
