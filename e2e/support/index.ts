export { type AuditedRequest, type AuditLog, type AuditMark, openAuditLog, showRequest } from './audit.js';
export { conditionOf, phasesSeen, readyCondition, shows } from './conditions.js';
export { deployEdge } from './edge.js';
export { type EdgeAnswer, type EdgeClient, openEdgeClient, signedHeaders } from './edge-client.js';
export {
  DELETED_NAMESPACES,
  EXTRA_RUNTIME_NAMESPACES,
  fixtureObjects,
  GENERATED_SECRET,
  NAMESPACE,
  namespaceObject,
  PROVIDER_KEY,
  RELEASE,
} from './fixtures.js';
export type { Kinds } from './kinds.js';
export { createKubeApi, type KubeApi, KubeApiError, loadKubeConfig, pathOf } from './kube-api.js';
export { sumOf } from './metrics.js';
export { evaluateInPod, runningContainer } from './pods.js';
export { type Forwarded, forwardPort } from './port-forward.js';
export {
  CHART,
  IDLE_SUSPEND_AFTER_S,
  installRelease,
  releaseValues,
  serviceImages,
  templateRelease,
  uninstallRelease,
  upgradeRelease,
} from './release.js';
export { everyOneSynced } from './rest.js';
export { secretValue } from './secrets.js';
export {
  type Children,
  childrenDeleted,
  DELETED_WITHIN_MS,
  messageOf,
  openSession,
  READY_WITHIN_MS,
  type Session,
  SHOWN_WITHIN_MS,
  type SpecInput,
} from './session.js';
export { imageOf, loadSettings } from './settings.js';
export { setUpPlatform } from './setup.js';
export { throwawayCrd } from './throwaway-crd.js';
export { createTools, type Tools } from './tools.js';
export { type ObjectWatch, watchObjects } from './watch.js';
