import { z } from 'zod';

interface ErrorEntry {
  /** HTTP status; socket events carry only the code. */
  status: number;
  /** True if the same request may succeed later. */
  retryable: boolean;
  /** The default `message`, for developers. */
  message: string;
}

const entry = (status: number, message: string, retryable = false): ErrorEntry => ({ status, retryable, message });

export const ERRORS = {
  validation_failed: entry(400, 'The request is not valid; see extra.fields.'),
  request_timeout: entry(408, 'The body stood still, or arrived too slowly.', true),
  malformed_json: entry(400, 'The body is not valid JSON.'),
  payload_too_large: entry(413, 'The body exceeds the size limit.'),
  unsupported_media_type: entry(415, 'The body must be application/json.'),
  route_not_found: entry(404, 'Route not found.'),
  method_not_allowed: entry(405, 'The route does not support this method; see the Allow header.'),

  token_missing: entry(401, 'Credentials are missing.'),
  token_invalid: entry(401, 'The identity provider token is not valid.'),
  token_expired: entry(401, 'The identity provider token has expired.'),
  token_revoked: entry(401, 'The token has been revoked.'),
  reauthentication_required: entry(
    401,
    'The last sign-in is too old for this operation; sign in again at the identity provider.',
  ),
  resume_token_invalid: entry(401, 'The resume token is not valid for these credentials.'),
  resume_token_expired: entry(401, 'The resume token has expired.'),
  session_user_mismatch: entry(403, 'The credentials belong to another user than the session.'),
  token_header_required: entry(401, 'This route accepts the identity provider token only in X-Token.'),
  signature_missing: entry(401, 'X-Signature and X-Timestamp are required.'),
  signature_invalid: entry(401, 'X-Signature does not match.'),
  timestamp_invalid: entry(401, 'X-Timestamp must be Unix seconds, Unix milliseconds or ISO 8601.'),
  timestamp_out_of_window: entry(401, 'X-Timestamp is outside the allowed clock skew.'),

  token_not_permitted: entry(403, 'The API token does not permit this.'),
  sign_up_required: entry(403, 'The identity is valid but has not signed up.'),
  origin_not_allowed: entry(403, 'Pages of this origin may not connect.'),
  operator_not_allowed: entry(403, 'The operator is not permitted to perform this action.'),
  user_banned: entry(403, 'The user is banned.'),
  user_deleted: entry(403, 'The account was deleted.'),
  user_not_found: entry(404, 'User not found.'),

  workspace_not_found: entry(404, 'Workspace not found.'),
  agent_not_found: entry(404, 'Agent not found.'),
  conversation_not_found: entry(404, 'Conversation not found.'),
  message_not_found: entry(404, 'Message not found.'),
  turn_not_found: entry(404, 'Turn not found.'),
  memory_not_found: entry(404, 'Memory not found.'),
  artifact_not_found: entry(404, 'Artifact or version not found.'),
  workflow_not_found: entry(404, 'Workflow not found.'),
  schedule_not_found: entry(404, 'Schedule not found.'),
  trigger_not_found: entry(404, 'Trigger not found.'),
  receipt_not_found: entry(404, 'Receipt not found.'),
  tool_not_found: entry(404, 'Tool not found.'),
  asset_not_found: entry(404, 'Image not found.'),
  upload_not_found: entry(404, 'Upload not found.'),
  import_not_found: entry(404, 'Import not found, or it has expired.'),
  export_not_found: entry(404, 'Export not found, or its archive has expired.'),
  api_token_not_found: entry(404, 'API token not found.'),
  integration_not_found: entry(404, 'Integration not found.'),
  webhook_not_found: entry(404, 'Webhook not found.'),
  webhook_delivery_not_found: entry(404, 'Delivery not found, or no longer kept.'),

  agent_limit_reached: entry(409, 'Agent limit reached.'),
  agent_is_manager: entry(409, 'The manager cannot be deleted; a workspace always has one.'),
  agent_deleted: entry(409, 'The agent was deleted, so it no longer answers.'),
  agent_id_required: entry(400, 'A conversation of type agent requires agent_id.'),
  agent_id_not_allowed: entry(400, 'A conversation of type swarm does not allow agent_id.'),
  content_type_not_allowed: entry(400, 'Clients must not send content of this type.'),
  mention_invalid: entry(400, 'A mention refers to an unknown agent or to a range outside the text.'),
  attachment_invalid: entry(400, 'Attachment not found among your uploads.'),
  cursor_invalid: entry(400, 'The cursor is not valid for this list.'),
  local_id_reused: entry(409, 'The local_id was already used for another message.'),
  action_not_found: entry(404, 'Action not found on this card.'),
  approval_closed: entry(409, 'The card can no longer be decided on: it expired, or another message was sent.'),
  permission_not_supported: entry(400, 'The tool changes nothing, so it cannot ask before a call.'),
  tool_forced: entry(409, 'The operator has turned this tool on for all users.'),
  action_already_chosen: entry(409, 'Another action of this card has already been chosen.'),
  legal_version_unknown: entry(400, 'The version is not the current version of the document.'),
  turn_not_running: entry(409, 'The reply is neither queued nor running.'),
  schedules_not_enabled: entry(403, 'This installation has no schedules.'),
  schedule_limit_reached: entry(409, 'Schedule limit reached.'),
  schedule_running: entry(409, 'The previous run of the schedule has not ended.'),
  triggers_not_enabled: entry(403, 'This installation has no triggers.'),
  trigger_paused: entry(409, 'The trigger is paused.'),
  trigger_signature_invalid: entry(401, 'The signature is missing, does not match, or is too old.'),
  trigger_signing_unavailable: entry(403, 'This installation has no keys with which it could store signing secrets.'),
  workflow_not_running: entry(409, 'The workflow has ended.'),
  turn_running: entry(409, 'The reply is still in progress; stop it first.'),
  message_not_an_answer: entry(409, 'The message is not a reply to a user message.'),
  message_not_editable: entry(409, 'Only user messages can be edited.'),
  message_not_latest: entry(409, 'The conversation has a newer message.'),
  resync_required: entry(410, 'The requested events are no longer available; reload the workspace.'),

  idempotency_key_reused: entry(422, 'The Idempotency-Key was already used for another request.'),
  conversation_limit_reached: entry(409, 'Conversation limit reached.'),
  workspace_limit_reached: entry(409, 'Workspace limit reached.'),
  import_in_progress: entry(409, 'Another import of the user is not finished.'),
  memory_limit_reached: entry(409, 'Memory limit reached.'),
  memory_too_large: entry(413, 'The memory content exceeds the size limit.'),
  upload_too_large: entry(413, 'The file exceeds the size limit.'),
  upload_quota_exceeded: entry(409, 'Storage quota exceeded.'),
  export_limit_reached: entry(429, 'The last export is too recent; try again later.', true),
  upload_limit_reached: entry(409, 'File limit reached.'),
  upload_stalled: entry(408, 'The upload stood still, or arrived too slowly.', true),
  malformed_form: entry(400, 'The body is not valid multipart/form-data, or it has two parts named file.'),
  upload_file_missing: entry(400, 'The form has no part named file.'),
  upload_link_invalid: entry(403, 'The link is not valid or has expired.'),
  range_not_satisfiable: entry(416, 'Range not satisfiable.'),
  integration_not_configured: entry(409, 'This provider is not configured.'),
  integration_code_invalid: entry(400, 'The provider rejected the authorization code; restart the authorization.'),
  integration_permissions_missing: entry(
    403,
    'The user has not granted all permissions that the app needs; restart the authorization. extra.missing_permissions lists them.',
  ),
  integration_exchange_failed: entry(502, 'The provider refused to connect the app; see extra.provider_error.'),
  integration_unavailable: entry(503, 'The provider is unavailable; try again later.', true),
  tool_servers_not_enabled: entry(403, 'This installation does not let users add tool servers.'),
  api_token_limit_reached: entry(409, 'API token limit reached.'),
  tool_server_limit_reached: entry(409, 'Tool server limit reached.'),
  tool_server_unusable: entry(422, 'The address has no tool server that agents can use; see extra.reason.'),
  webhooks_not_enabled: entry(403, 'This installation has no webhooks for users.'),
  webhook_limit_reached: entry(409, 'Webhook limit reached.'),
  redirect_url_not_allowed: entry(400, 'redirect_url is not allowed.'),

  turn_queue_full: entry(429, 'Too many turns are queued in this conversation.', true),
  trigger_queue_full: entry(429, 'Too many runs of this trigger are queued.', true),
  subscription_limit_reached: entry(429, 'Subscription limit of this socket reached.'),
  search_timeout: entry(429, 'The search timed out; use fewer or less common words.', true),
  rate_limited: entry(429, 'Too many requests.', true),
  sign_up_limit_reached: entry(429, 'The account was deleted and recreated too often.', true),
  token_limit_reached: entry(429, 'The token limit of this month is reached.'),

  service_unavailable: entry(503, 'A dependency is unavailable.', true),
  internal_error: entry(500, 'Internal server error.', true),
} as const satisfies Record<string, ErrorEntry>;

export type ErrorCode = keyof typeof ERRORS;

export const ErrorCode = z.enum(Object.keys(ERRORS) as [ErrorCode, ...ErrorCode[]]).meta({
  id: 'ErrorCode',
  description: 'What went wrong, for programs. `x-error-catalogue` of the OpenAPI document describes each code.',
});

const InvalidField = z
  .strictObject({
    path: z.string().meta({ description: 'Where the field is, with dots: `content.text`; empty for the whole body.' }),
    message: z.string().meta({ description: 'The rule that the value breaks, in English, for developers.' }),
  })
  .meta({ id: 'InvalidField', description: 'A field of the request that is not valid.' });

const ErrorExtra = z
  .object({
    request_id: z.string().meta({ description: 'The `X-Request-Id` of the response; name it in support requests.' }),
    fields: z
      .array(InvalidField)
      .optional()
      .meta({ description: 'With `validation_failed`: up to 20 invalid fields.' }),
    retry_after_ms: z.int().nonnegative().optional().meta({
      description: 'Milliseconds after which the same request may succeed.',
    }),
  })
  .catchall(z.unknown())
  .meta({ id: 'ErrorExtra', description: 'Details. Some codes add further fields, as their messages state.' });

export const ErrorBody = z
  .strictObject({
    message: z
      .string()
      .meta({ description: 'An English sentence for developers. Do not show it to users, and do not parse it.' }),
    code: ErrorCode.meta({ description: 'What went wrong; decide by it, and treat unknown codes by the status.' }),
    extra: ErrorExtra.nullable().meta({ description: 'Details for programs; null if there are none.' }),
  })
  .meta({ id: 'Error', description: 'The body of every response with a status from 400 on.' });
export type ErrorBody = z.output<typeof ErrorBody>;

export interface ApiErrorOptions {
  /** Replaces the code's default message. */
  message?: string;
  /** Details for the client; the error handler adds `request_id`. */
  extra?: Record<string, unknown>;
  cause?: unknown;
}

/** An error that clients see. `ERRORS` defines its status and whether it is retryable. */
export class ApiError extends Error {
  override name = 'ApiError';
  readonly code: ErrorCode;
  readonly extra: Record<string, unknown>;

  constructor(code: ErrorCode, { message, extra = {}, cause }: ApiErrorOptions = {}) {
    super(message ?? ERRORS[code].message, cause === undefined ? undefined : { cause });
    this.code = code;
    this.extra = extra;
  }

  get status(): number {
    return ERRORS[this.code].status;
  }

  get retryable(): boolean {
    return ERRORS[this.code].retryable;
  }
}

/** Converts zod issues to `extra.fields`: a dotted path and a message per field, up to 20. */
export function validationError(error: z.ZodError): ApiError {
  const fields = error.issues.slice(0, 20).map((issue) => ({ path: issue.path.join('.'), message: issue.message }));
  return new ApiError('validation_failed', { extra: { fields } });
}
