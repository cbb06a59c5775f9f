import type { TurnStatus } from '../platform/database/schema.js';

/** True if the turn is queued or running. */
export const isUnfinished = ({ status }: { status: TurnStatus }): boolean =>
  status === 'queued' || status === 'running';
