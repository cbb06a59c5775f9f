import type { FailedTurn, Unreadable } from './objects.js';

/** The output of `--json`. Ages are whole seconds. */
export interface Report {
  name: string;
  workspace_id: string;
  user_id: string;
  namespace: string;
  age_s: number | null;
  /** `Pending` if there is no status. */
  phase: string;
  reason: string | null;
  message: string | null;
  image: string | null;
  address: string | null;
  /** True if the status describes an older spec generation. */
  outdated: boolean;
  /** The field manager that set `spec.suspend`; null if it is not set. */
  suspended: { by: string; hold: boolean; age_s: number | null } | null;
  deletion: { age_s: number | null; finalizers: string[]; children: string[] } | null;
  conditions: { type: string; status: string; reason: string; message: string; age_s: number | null }[];
  sync: {
    /** Time since the controller last wrote a child; null with Metacontroller and without children. */
    children_written_s_ago: number | null;
    status_written_s_ago: number | null;
    framework: 'builtin' | 'metacontroller' | null;
    controller: Workload | null;
    webhook: Workload | null;
    leader: { holder: string; renewed_s_ago: number | null } | null;
  };
  deployment: { wanted: number; ready: number; updated: number; why: string | null } | null;
  pods: PodReport[];
  /** Resources whose quota in the namespace is exhausted. */
  exhausted: { quota: string; resource: string; used: string; hard: string }[];
  events: { age_s: number | null; type: string; reason: string; about: string; count: number; message: string }[];
  /** Newest first; null if the orchestrator was not asked. */
  failed_turns: FailedTurn[] | null;
  next: string[];
  unreadable: Unreadable[];
}

export interface Workload {
  name: string;
  ready: number;
  wanted: number;
}

export interface PodReport {
  name: string;
  phase: string;
  node: string | null;
  age_s: number | null;
  leaving: boolean;
  containers: { name: string; ready: boolean; restarts: number; state: string; last_end: string | null }[];
}
