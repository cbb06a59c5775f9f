import { DURABLE_EVENTS, EPHEMERAL_EVENTS } from '@uswarm/contract';

/** Why the log is read. */
export const EVIDENCES = ['gap', 'after_seq', 'epoch', 'check', 'subscribe', 'version'] as const;
export type Evidence = (typeof EVIDENCES)[number];

/** The reasons of `workspace.resync`. */
export const RESYNC_REASONS = ['too_old', 'too_far', 'diverged'] as const;
export type ResyncReason = (typeof RESYNC_REASONS)[number];

export const DELIVERED_EVENTS = [...DURABLE_EVENTS, ...EPHEMERAL_EVENTS, 'workspace.position'] as const;
