/** Runs a schedule at its next time. */
export const SCHEDULE_JOB = 'schedule';
