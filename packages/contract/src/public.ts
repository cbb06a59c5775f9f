/** The published entry: what apps use. `index.ts` adds what only the services share. */

export {
  AgentDataStatus,
  AgentModel,
  AgentRole,
  AgentRouteStatus,
  AgentSkill,
  AgentStatus,
  AttachmentType,
  ConversationType,
  DURABLE_EVENTS,
  type DurableEventName,
  FormFieldType,
  IntegrationProvider,
  ListedMessageStatus,
  listedStatus,
  MessageContentType,
  MessageRole,
  MessageStatus,
  PushService,
  ResponseLength,
  RuntimePhase,
  RuntimeStatus,
} from './enums.js';
export { ApiError, ErrorBody, ErrorCode, ERRORS, validationError } from './errors.js';
export { LIMITS } from './limits.js';
export { exceedsDepth } from './depth.js';
export { Receipt, ReceiptKeySet, ReceiptPage, type ReceiptStatus, SignedReceipt } from './resources/receipt.js';
export { TurnStep, TurnStepPage, TurnSteps } from './resources/turn-step.js';
export {
  Webhook,
  WebhookAttempt,
  WebhookDelivery,
  WebhookDeliveryPage,
  WebhookFailure,
  WebhookWithSecret,
} from './resources/webhook.js';
export {
  CreateTriggerBody,
  SetTriggerSigningBody,
  Trigger,
  TriggerPage,
  TriggerRun,
  TriggerSigningSecret,
  TriggerWithUrl,
  UpdateTriggerBody,
} from './resources/trigger.js';
export { CreateScheduleBody, Schedule, SchedulePage, ScheduleRun, UpdateScheduleBody } from './resources/schedule.js';
export { Workflow, WorkflowPage, WorkflowStep, WorkflowSummary } from './resources/workflow.js';
export { Artifact, ArtifactPage, ArtifactSummary, ArtifactVersion } from './resources/artifact.js';
export { Health, ModelCapabilities, ModelCatalogItem } from './resources/core.js';
export { canonicalLanguage } from './resources/codes.js';
export { calendarDay } from './resources/user.js';
export { canonicalTimeZone } from './resources/time-zones.js';
export { ApiToken, type ApiTokenBody, type NewApiToken, TokenScope } from './resources/api-token.js';
export { Export, type ExportStatus } from './resources/export.js';
export { type ImportProblem, WorkspaceImport } from './resources/workspace-import.js';
export { LegalDocumentName, LegalStatus } from './resources/legal.js';
export { Attachment } from './resources/upload.js';
export {
  UpdateBudgetBody,
  type UsageAmount,
  type UsageGroup,
  type UsageGrouping,
  type UsageReport,
  UsageReportPage,
  UserUsageSummary,
  WorkspaceBudget,
  WorkspaceUsage,
} from './resources/usage.js';
export { UserPatch, UserProfile } from './resources/user.js';
export {
  AgentData,
  AgentDetails,
  AgentMemory,
  AgentMemoryList,
  AgentPrompt,
  AgentSettings,
  AgentSummary,
  AgentTool,
  CreateAgentBody,
  CreateMemoryBody,
  UpdateAgentBody,
  UpdateMemoryBody,
  UpdateAgentSettingsBody,
  UpdateAgentToolBody,
} from './resources/agent.js';
export {
  emptyReplyText,
  EditMessageBody,
  Mention,
  FormField,
  FormValue,
  MessageContent,
  MessageData,
  MessageDraft,
  SentDraft,
  MessagePage,
  type OpenCardPage,
  Pagination,
  type WorkflowStepSummary,
} from './resources/message.js';
export { MESSAGE_ERROR_CODES, MESSAGE_ERRORS, messageError, type MessageErrorCode } from './resources/message-error.js';
export {
  Conversation,
  ConversationPage,
  CreateConversationBody,
  UpdateConversationBody,
} from './resources/conversation.js';
export { PushKeys, PushSettings, PushTokenBody } from './resources/push.js';
export { Epoch, EpochSeq } from './resources/primitives.js';
export { Workspace, workspaceExample } from './resources/workspace.js';
export {
  IntegrationCatalog,
  IntegrationCategory,
  IntegrationItem,
  OAuthConfiguration,
  ServerTool,
  UserToolServer,
} from './resources/integration.js';
export {
  CLIENT_EVENTS,
  type ClientEventName,
  MessageSend,
  PositionReport,
  SessionRenew,
  WorkspaceSubscribe,
  WorkspaceUnsubscribe,
} from './events/client.js';
export {
  type EphemeralEventName,
  EPHEMERAL_EVENTS,
  SERVER_EVENTS,
  type ServerEventName,
  type ServerEventPayload,
} from './events/server.js';
export { AgentState, StreamState } from './events/states.js';
export { safeParseRequest } from './safe-parse-request.js';
export { CREDENTIAL_HEADERS, SESSION_ENDINGS, SessionEnd, SessionEndingCode } from './events/sessions.js';
export {
  allowedMethods,
  findRoute,
  GATEWAY_ROUTES,
  type MessageListQuery,
  type OperationId,
  pageQuery,
  POSITION_HEADER,
  type PageQuery,
  type ReplayedEvent,
  type RouteAnswer,
  type RouteAuth,
  type RouteDefinition,
  type RouteInput,
  type RouteOf,
  type RoutePosition,
  type RouteSubject,
  ROUTES,
  STREAM_PATH,
  StreamQuery,
  subjectOf,
} from './routes/index.js';
