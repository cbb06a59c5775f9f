import { currentTraceparent, type ModelTokenTurn, type SigningKey, signModelToken } from '@uswarm/service-kit';

/**
 * Creates the token with which the runtime calls the model gateway; empty if this orchestrator has no key, because
 * there is no gateway. Model calls continue the current trace.
 */
export type ModelTokens = (turn: ModelTokenTurn) => Promise<string>;

export function createModelTokens(key: SigningKey | undefined): ModelTokens {
  return async (turn) => (key === undefined ? '' : signModelToken(key, { ...turn, traceparent: currentTraceparent() }));
}
