import { EVENT_STREAM, EVENTS, LATER_RELEASES, SESSIONS } from './connections.js';
import { ANSWERS, SENDING } from './messages.js';
import type { Mutant } from './mutant.js';

export const MUTANTS: readonly Mutant[] = [SENDING, ANSWERS, EVENTS, SESSIONS, LATER_RELEASES, EVENT_STREAM].flat();
