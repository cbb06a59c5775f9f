import type { TurnStatus } from '../platform/database/schema.js';

/** Whether a turn is queued or running. */
export const isUnfinished = ({ status }: { status: TurnStatus }): boolean =>
  status === 'queued' || status === 'running';
