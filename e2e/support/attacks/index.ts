import { CONTROLLER_ATTACKS, DNS_ATTACKS } from './controller.js';
import { CONNECTIONS, FORGED_REQUESTS, RUNTIME_CONNECTIONS } from './parts.js';
import { WEBHOOK_ANSWERS, WEBHOOK_CHILDREN, WEBHOOK_DELETIONS } from './webhook.js';

/** Every attack in the suite. Each table has a test per row in e2e/platform/attacks-* or e2e/controller/attacks-*. */
export const ATTACKS = [
  ...CONTROLLER_ATTACKS,
  ...DNS_ATTACKS,
  ...CONNECTIONS,
  ...FORGED_REQUESTS,
  ...RUNTIME_CONNECTIONS,
  ...WEBHOOK_ANSWERS,
  ...WEBHOOK_CHILDREN,
  ...WEBHOOK_DELETIONS,
];
