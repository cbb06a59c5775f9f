/** Begins the next queued run of a trigger. */
export const TRIGGER_JOB = 'trigger';
