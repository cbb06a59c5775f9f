export { exceedsDepth } from '../depth.js';
export { DNS_LABEL, DnsLabel, DnsSubdomain } from './dns-names.js';
export {
  API_GROUP,
  API_VERSION,
  childName,
  CONTROLLER_MANAGER,
  DEFAULT_RUNTIME_NAMESPACE,
  DEFAULT_RUNTIME_PORT,
  KEEP_LABEL,
  LABEL,
  DNS_ACCESS,
  MODEL_ACCESS,
  ORCHESTRATOR_MANAGER,
  ownEnvSecret,
  RUNTIME_COMPONENT,
  RUNTIME_STORES_SECRET,
  runtimeAddress,
  runtimeSelector,
  SHARED_MODEL_SECRET,
  USERSWARM_API_VERSION,
  USERSWARM_KIND,
  USERSWARM_NAME,
  USERSWARM_NAME_LENGTH,
  USERSWARM_PLURAL,
  userSwarmName,
  USERSWARMS,
  workspaceIdOf,
} from './names.js';
export {
  CONDITIONS,
  type ConditionType,
  FAILURE_REASONS,
  type FailureReason,
  PHASES,
  SYNC_FAILURES,
  type SyncFailure,
  type UserSwarmPhase,
  WEBHOOK_FAILURES,
} from './conditions.js';
export { deletionMessage, foreignFinalizers, FRAMEWORK_FINALIZERS } from './deletion.js';
export { adviceFor, type Reason, REASON_ADVICE } from './advice.js';
export { canonicalQuantity, exceeds, parseQuantity } from './quantity.js';
export { Condition, type UserSwarm, UserSwarmSpec, UserSwarmStatus } from './resource.js';
export {
  CHILD_GROUPS,
  type ChildGroup,
  type ObjectsByKey,
  type SyncRequest,
  SyncResponse,
  WEBHOOK_REVISION_HEADER,
  WEBHOOK_STARTED_HEADER,
} from './hook.js';
export { ROLLOUT, type RolloutGrant, rolloutGrantOf, START, START_QUEUED } from './rollout.js';
export { REACHABLE_CONDITION, UNREACHABLE_SINCE, unreachableSince } from './reachability.js';
export { readyUntil, START_DEADLINE_S } from './readiness.js';
export { type DrainFlagData, drainFlagExpiry } from './drain-flag.js';
