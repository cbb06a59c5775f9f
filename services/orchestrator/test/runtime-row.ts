import type { RuntimeRow } from '../src/records/runtimes.store.js';

export const runtimeRow = (now: Date, more: Partial<RuntimeRow> = {}): RuntimeRow => ({
  workspace_id: 'w',
  user_id: 'u',
  desired: 'running',
  phase: 'Pending',
  reason: '',
  verified: false,
  address: null,
  instance_id: null,
  identified_at: null,
  silent_since: null,
  polled_until: null,
  failures: 0,
  wanted_at: now,
  updated_at: now,
  ...more,
});
