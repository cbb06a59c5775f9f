import { USAGE_PRUNING_JOB } from '../features/account/usage-pruning.js';
import { AUDIT_PRUNING_JOB } from '../features/admin/audit.store.js';
import { EVENT_PRUNING_JOB } from '../features/events/event-pruning.js';
import { IDEMPOTENCY_PRUNING_JOB } from '../features/idempotency/idempotency.service.js';
import { EXPORT_JOB } from '../features/exports/export-building.js';
import { TOKEN_REENCRYPTION_JOB } from '../features/integrations/token-reencryption.js';
import { REFRESH_JOB } from '../features/integrations/token-refresh.js';
import { REVOCATION_JOB } from '../features/integrations/token-revocation.js';
import { RUNTIME_JOB } from '../features/runtimes/runtime-requests.js';
import { TURN_JOB } from '../features/turns/turn-queue.js';
import { UPLOAD_JOB } from '../features/uploads/upload-retention.js';

/** All job types; the values of the `kind` label of metrics. Stored, so never change one after a release. */
export const JOB_TYPES = [
  TURN_JOB,
  RUNTIME_JOB,
  UPLOAD_JOB,
  EXPORT_JOB,
  EVENT_PRUNING_JOB,
  USAGE_PRUNING_JOB,
  IDEMPOTENCY_PRUNING_JOB,
  AUDIT_PRUNING_JOB,
  REFRESH_JOB,
  REVOCATION_JOB,
  TOKEN_REENCRYPTION_JOB,
];
