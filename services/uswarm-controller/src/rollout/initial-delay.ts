/** The previous release's orchestrators have stopped by then. */
const ORCHESTRATORS_STOPPED_MS = 30_000;

/**
 * Milliseconds after the start in which no grants are given. It exceeds one resync: a UserSwarm that was reconciled
 * with the previous release's webhook still waits for that release's revision, which must not be granted after a
 * rollback.
 */
export const rolloutInitialDelayMs = (resyncS: number): number => Math.max(ORCHESTRATORS_STOPPED_MS, resyncS * 1_500);
