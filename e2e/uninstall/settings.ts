import { NAMESPACE } from '../support/index.js';

/** Values that prevent suspension for idleness during the test. */
export const AWAKE = { runtime: { idleSuspendAfterSeconds: 0 } };
/** The object that exists while a release is being uninstalled. */
export const DRAIN_FLAG = { name: 'uswarm-drain', namespace: NAMESPACE.release };
/** Milliseconds. */
export const READY_MS = 240_000;
