import type { OrchestratorConfig } from '../config.js';

/** In seconds. Idle pods are expensive; idle processes are not. */
const IDLE_SUSPEND_AFTER_S = { kubernetes: 1_800, process: 0 };

/** Runtimes without work are suspended after this many ms; 0 disables it. */
export function idleSuspendAfterMs(
  config: Pick<OrchestratorConfig, 'RUNTIME_DRIVER' | 'IDLE_SUSPEND_AFTER_S'>,
): number {
  return (config.IDLE_SUSPEND_AFTER_S ?? IDLE_SUSPEND_AFTER_S[config.RUNTIME_DRIVER]) * 1_000;
}

/** Private keys that sign calls to runtimes, the current one first. */
export const callKeys = ({
  CALL_PRIVATE_KEY: key,
  CALL_PRIVATE_KEY_PREVIOUS: previous,
}: Pick<OrchestratorConfig, 'CALL_PRIVATE_KEY' | 'CALL_PRIVATE_KEY_PREVIOUS'>): string[] =>
  previous === undefined ? [key] : [key, previous];
