import { USAGE_PRUNING_WORK } from './features/account/usage-pruning.js';
import { AUDIT_PRUNING_WORK } from './features/admin/audit.store.js';
import { EVENT_PRUNING_WORK } from './features/events/event-pruning.js';
import { IDEMPOTENCY_PRUNING_WORK } from './features/idempotency/idempotency.service.js';
import { EXPORT_WORK } from './features/exports/export-building.js';
import { REKEYING_WORK } from './features/integrations/rekeying.js';
import { REFRESH_WORK } from './features/integrations/token-refresh.js';
import { REVOCATION_WORK } from './features/integrations/token-revocation.js';
import { RUNTIME_WORK } from './features/runtimes/runtime-requests.js';
import { TURN_WORK } from './features/turns/turn-queue.js';
import { UPLOAD_WORK } from './features/uploads/upload-keeping.js';

/** Every kind of background work: what metrics are labelled by. */
export const WORK_KINDS = [
  TURN_WORK,
  RUNTIME_WORK,
  UPLOAD_WORK,
  EXPORT_WORK,
  EVENT_PRUNING_WORK,
  USAGE_PRUNING_WORK,
  IDEMPOTENCY_PRUNING_WORK,
  AUDIT_PRUNING_WORK,
  REFRESH_WORK,
  REVOCATION_WORK,
  REKEYING_WORK,
];
