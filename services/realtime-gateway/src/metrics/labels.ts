import { DURABLE_EVENTS, EPHEMERAL_EVENTS } from '@uswarm/contract';

/** Why the log is read. */
export const EVIDENCES = ['gap', 'after_seq', 'epoch', 'check', 'subscribe'] as const;
export type Evidence = (typeof EVIDENCES)[number];

/** The reasons of `workspace.resync`. */
export const RESYNC_REASONS = ['too_old', 'too_far', 'diverged'] as const;
export type ResyncReason = (typeof RESYNC_REASONS)[number];

export const DELIVERED_EVENTS = [...DURABLE_EVENTS, ...EPHEMERAL_EVENTS, 'workspace.position'] as const;

/** Response texts for refused connections. */
export const REFUSALS = {
  shutting_down: 'shutting down',
  not_admitted: 'not admitted',
  origin: 'origin not allowed',
  overloaded: 'overloaded',
  address: 'too many connections of this address',
} as const;
export type RefusalReason = keyof typeof REFUSALS;
