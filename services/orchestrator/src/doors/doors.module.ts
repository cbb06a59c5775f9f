import type { Database } from '../platform/database/database.js';
import { type AskDeps, createAsk } from './ask.js';
import { countAnswerTokens } from './answer-usage.store.js';
import { createOpenAiDoor, type OpenAiDoorDeps } from './openai/openai.door.js';
import type { Router } from 'express';

export interface DoorsModuleDeps extends Omit<AskDeps, 'usageOf'> {
  database: Database;
}

/** Mounts all doors. */
export type Doors = (authenticate: OpenAiDoorDeps['authenticate']) => Router;

/** Other protocols over the public log, and the path on which apps send messages. */
export function createDoorsModule({ database, ...deps }: DoorsModuleDeps): Doors {
  const ask = createAsk({ ...deps, usageOf: (questionId) => countAnswerTokens(database, questionId) });
  return (authenticate) => createOpenAiDoor({ ask, authenticate });
}
