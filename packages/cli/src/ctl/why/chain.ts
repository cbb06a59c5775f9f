import type { Unreadable } from '../explain/objects.js';

/** One step from the state that a user notices to its cause. */
export interface Link {
  kind: 'condition' | 'event' | 'pod' | 'log';
  /** The object, such as `Pod userswarms/agent-runtime-a-1`. */
  about: string;
  /** Machine-readable, such as `CrashLoopBackOff`; null for log lines. */
  reason: string | null;
  message: string;
  age_s: number | null;
}

/** The output of `uswarmctl why --json`. */
export interface Chain {
  name: string;
  workspace_id: string;
  namespace: string;
  phase: string;
  reason: string | null;
  /** Seconds since the phase's condition changed. */
  since_s: number | null;
  /** True if nothing needs to be done. */
  healthy: boolean;
  /** From the condition to the cause; empty if healthy. */
  chain: Link[];
  next: { action: string; runbook: string | null };
  unreadable: Unreadable[];
}

export interface LogLine {
  /** True if it comes from the container's previous run. */
  previous: boolean;
  /** Null if the log is empty or unreadable. */
  line: string | null;
  unreadable: string | null;
}
