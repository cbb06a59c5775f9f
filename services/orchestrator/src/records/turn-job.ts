export const TURN_JOB = 'turn';
