export { addressKey, plainAddress } from './address-key.js';
export { canonicalJson } from './canonical-json.js';
export { chunkPauseMs } from './chunk-pause.js';
export { type ClientAddress, createClientAddress, proxyList } from './client-address.js';
export { type Clock, systemClock } from './clock.js';
export { ConfigError, flag, json, list, loadConfig, namespacedName, port } from './config.js';
export { currentContext, type RequestContext, runInContext } from './context.js';
export { corsOriginOption, corsOrigins } from './cors-origins.js';
export { type Deadline, startDeadline } from './deadline.js';
export { type Device, deviceLogFields, isDescribed, readDevice } from './device.js';
export { isPromptFlagged } from './flagged-prompt.js';
export { startHeartbeat } from './heartbeat.js';
export { requireUtf8 } from './json-body.js';
export { answerSlowBody, type BodyRules } from './slow-bodies.js';
export { listen, type ListenOptions, openPort, type RunningServer } from './http-server.js';
export { isCurrent } from './if-none-match.js';
export { isCanonicalToken, tokenHash } from './id-token.js';
export { createLogger, type Logger, openOutput, silentLogger } from './logger.js';
export { boundedLabel, createMetrics, initializedCounter, readGauge, Registry } from './metrics.js';
export {
  JOURNAL_IMAGES,
  MAX_MODEL_REQUEST_BYTES,
  MAX_TURN_IMAGE_BYTES,
  MAX_TURN_JOURNAL_BYTES,
} from './model-request-limits.js';
export { isNotConnected } from './not-connected.js';
export { startOpsServer } from './ops-server.js';
export { isOutOfCredit } from './out-of-credit.js';
export { MAX_PAGE_ADDRESS, pageAddress } from './page-address.js';
export { parseJson } from './parse-json.js';
export {
  createReceiptSigner,
  receiptJwk,
  receiptKeyId,
  type ReceiptKey,
  receiptPayload,
  ReceiptSignatureError,
  type ReceiptSigner,
  verifyManifestSignature,
  verifyReceiptSignature,
} from './receipt-signature.js';
export { type Backoff, backoffDelay, retry } from './retry.js';
export { retryAfterOf } from './retry-after.js';
export { resolveSecretFiles, secret } from './secret-files.js';
export { headerSecret, previousSecrets, secretText } from './secret-text.js';
export { isSecureUrl } from './secure-url.js';
export { createSecurityLog, createSourceName, type SecurityLog, SOURCE_ADDRESSES } from './security-log.js';
export { CloseStack, runService } from './shutdown.js';
export { signingKey } from './signing-key.js';
export { loadStaticFiles, pageHeaders, type StaticFiles } from './static-files.js';
export {
  callPublicKey,
  allowsPage,
  allowsQuery,
  createCallTokenVerifier,
  generateCallKeys,
  type McpCaller,
  type McpGrant,
  MODEL_TOKEN_PURPOSES,
  type ModelTokenTurn,
  parseSigningKey,
  parseSigningKeys,
  signAdminToken,
  signCallToken,
  type SigningKey,
  signInternalToken,
  signModelCallsToken,
  signMcpToken,
  signModelToken,
  TokenError,
  TOOL_TOKEN_TTL_S,
  type ToolTokenTurn,
  verifyAdminToken,
  verifyInternalToken,
  verifyModelCallsToken,
  verifyMcpToken,
  verifyModelToken,
} from './tokens.js';
export {
  estimatePromptTokens,
  estimateRequestTokens,
  estimateTokens,
  type ImagelessRequest,
  TOKENS_IN_FLIGHT,
  withoutImageData,
} from './token-estimate.js';
export { type ClosableWork, createClosableWork } from './closable-work.js';
export { createTaskQueue, QueueFull, type TaskOptions, type TaskQueue, type TaskQueueLimits } from './task-queue.js';
export { createTokenBuckets, type TokenBuckets } from './token-buckets.js';
export { currentTraceId, currentTraceparent, failSpan, inSpan, type Span, startSpan, traceHeaders } from './tracing.js';
export { hstsMaxAge, transportSecurity } from './transport-security.js';
export { unlessAborted } from './unless-aborted.js';
export {
  BINARY_CONTROLS,
  BLANK,
  CONTROLS,
  CONTROLS_IN_LINES,
  DECEPTIVE_IN_NAMES,
  DECEPTIVE_IN_TEXT,
  INVISIBLE,
  INVISIBLE_IN_QUERIES,
  NUL,
  storable,
  UNPRINTABLE,
  UNPRINTABLE_IN_LINES,
} from './unsafe-characters.js';
export {
  createServiceCredential,
  type ServiceCredential,
  TOKEN_VERDICTS,
  type TokenVerdict,
} from './service-credential.js';
export { untrustedText } from './untrusted-text.js';
export { capped, visibleJson, visibleText } from './visible-text.js';
export {
  parseValkeyUrl,
  type ValkeyAddress,
  type ValkeyCredentials,
  type ValkeyTarget,
  valkeyUrl,
} from './valkey-url.js';
export { withinDeadline } from './within-deadline.js';
