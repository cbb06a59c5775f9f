export { describeWithPart } from './describe-with-part.js';
export { freePort } from './free-port.js';
export { type PushFault, type PushServer, type SentPush, startPushServer } from './google/push-server.js';
export { type GoogleAccount, type GoogleFault, type GoogleServer, startGoogleServer } from './google/google-server.js';
export { type GoProgram, goProgram, hashOfFolder, missingGoProgram } from './go/go-program.js';
export { cacheFolder } from './cache-folder.js';
export { type Go, missingGo, withGo } from './go/go.js';
export { withInstallLock } from './install-lock.js';
export { LLAMA_MODELS, type LlamaModel, type RunningLlama, startLlama } from './llama/llama.js';
export { startLiteLlm } from './litellm/litellm.js';
export { LocalError, MissingPartError } from './local-error.js';
export type { MissingPart } from './missing-part.js';
export {
  type ModelScript,
  type ModelServerRequest,
  type ModelStep,
  type ReceivedRequest,
  words,
  textOf,
} from './model/model-script.js';
export { countTokens } from './model/count-tokens.js';
export { dialects } from './model/dialects/index.js';
export type { Dialect, DialectCall, DialectResult } from './model/dialects/dialect.js';
export { type ModelServer, type ModelUsage, startModelServer } from './model/model-server.js';
export type { TranscriptionAnswer } from './model/transcriptions.js';
export { type KeyIssuer, type KeyIssuerAlgorithm, startKeyIssuer, tokenVariants } from './oauth/key-issuer.js';
export { type ChangeOfTokenAnswer, type OAuthServer, startOAuthServer } from './oauth/oauth.js';
export { DEVELOPMENT_CLIENT_ID, type OidcIssuer, startOidcIssuer } from './oidc/oidc.js';
export { type RunningPostgres, startPostgres } from './postgres/postgres.js';
export { type RunningStandby, startStandby } from './postgres/standby.js';
export { type ApnsFault, type ApnsServer, type SentApns, startApnsServer } from './push/apns-server.js';
export {
  type BrowserSubscription,
  type ReceivedWebPush,
  startWebPushServer,
  type WebPushFault,
  type WebPushServer,
} from './push/web-push-server.js';
export { writePrivateFile } from './private-file.js';
export {
  commandLine,
  identifyProcess,
  ownIdentity,
  type ProcessIdentity,
  programOf,
  stillRuns,
  waitForExit,
} from './processes.js';
export { installPythonProgram, requirePython } from './python/python-packages.js';
export { missingPython } from './python/python.js';
export { missingS3 } from './s3/s3-program.js';
export { type RunningS3, S3_START_MS, startS3 } from './s3/s3.js';
export { type SearchUpstream, startSearchUpstream, type UpstreamResult } from './searxng/search-upstream.js';
export { type RunningSearxng, startSearxng } from './searxng/searxng.js';
export { missingValkey } from './valkey/valkey-binary.js';
export { type RunningValkey, startValkey } from './valkey/valkey.js';
export { startValkeyCluster, type ValkeyCluster } from './valkey/valkey-cluster.js';
export { untilValkey, valkeyCommand } from './valkey/valkey-command.js';
export { startValkeySentinels, type ValkeySentinels } from './valkey/valkey-sentinels.js';
