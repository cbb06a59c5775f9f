export const RUNTIME_CONTAINER = 'agent-runtime';

/** Startup probe time in seconds; the kubelet probes once per second. */
export const STARTUP_PROBE_S = 120;
