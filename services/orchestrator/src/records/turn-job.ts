/** Job type of turns. */
export const TURN_JOB = 'turn';
