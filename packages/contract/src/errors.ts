import { z } from 'zod';

interface ErrorEntry {
  /** HTTP status; sockets carry the code alone. */
  status: number;
  /** Whether the same request may succeed later without being changed. */
  retryable: boolean;
  /** The default `message`, a sentence for developers. */
  message: string;
}

const entry = (status: number, message: string, retryable = false): ErrorEntry => ({ status, retryable, message });

/** Every error code of the API. spec: orchestrator §7, which leaves the catalogue open. */
export const ERRORS = {
  validation_failed: entry(400, 'The request does not have the documented form; see extra.fields.'),
  malformed_json: entry(400, 'The body is not valid JSON.'),
  payload_too_large: entry(413, 'The body is larger than allowed.'),
  unsupported_media_type: entry(415, 'The body must be application/json.'),
  route_not_found: entry(404, 'There is no such route.'),
  method_not_allowed: entry(405, 'The route does not support this method; see the Allow header.'),

  token_missing: entry(401, 'No credential was sent.'),
  token_invalid: entry(401, 'The identity provider token is not valid.'),
  token_expired: entry(401, 'The identity provider token has expired.'),
  token_revoked: entry(401, 'The identity provider token was logged out.'),
  reauthentication_required: entry(
    401,
    'The sign-in at the identity provider is too old for this; sign in there again.',
  ),
  token_header_required: entry(401, 'This route takes the identity provider token in X-Token only.'),
  signature_missing: entry(401, 'X-Signature and X-Timestamp are required.'),
  signature_invalid: entry(401, 'X-Signature does not match.'),
  timestamp_invalid: entry(401, 'X-Timestamp is none of Unix seconds, milliseconds, ISO 8601.'),
  timestamp_out_of_window: entry(401, 'X-Timestamp is too far from the time of the server.'),

  sign_up_required: entry(403, 'The identity is valid but has not signed up.'),
  operator_not_allowed: entry(403, 'The operator has no right to do this.'),
  user_banned: entry(403, 'The user is banned.'),
  user_deleted: entry(403, 'The account was deleted.'),
  user_not_found: entry(404, 'There is no such user.'),

  workspace_not_found: entry(404, 'There is no such workspace.'),
  agent_not_found: entry(404, 'There is no such agent.'),
  conversation_not_found: entry(404, 'There is no such conversation.'),
  message_not_found: entry(404, 'There is no such message.'),
  memory_not_found: entry(404, 'There is no such memory.'),
  tool_not_found: entry(404, 'There is no such tool.'),
  asset_not_found: entry(404, 'Image not found.'),
  upload_not_found: entry(404, 'There is no such upload.'),
  export_not_found: entry(404, 'Export not found, or its archive has expired.'),
  integration_not_found: entry(404, 'There is no such integration.'),

  agent_id_required: entry(400, 'A conversation of type agent needs agent_id.'),
  agent_id_not_allowed: entry(400, 'A conversation of type swarm takes no agent_id.'),
  content_type_not_allowed: entry(400, 'A client may not send content of this type.'),
  mention_invalid: entry(400, 'A mention names an unknown agent or a range outside the text.'),
  attachment_invalid: entry(400, 'An attachment is not an upload of the caller.'),
  cursor_invalid: entry(400, 'The cursor is not valid for this list.'),
  local_id_reused: entry(409, 'This local_id was used for another message.'),
  action_not_found: entry(404, 'The card has no such action.'),
  action_already_chosen: entry(409, 'Another action of this card was chosen already.'),
  legal_version_unknown: entry(400, 'This is not the current version of the document.'),
  turn_not_running: entry(409, 'The reply is neither being written nor waiting.'),
  turn_running: entry(409, 'The reply is not finished; stop it first.'),
  message_not_an_answer: entry(409, 'The message is not an answer to a message of the user.'),
  message_not_editable: entry(409, 'Only messages of the user can be edited.'),
  message_not_latest: entry(409, 'A newer message was sent to the conversation.'),
  resync_required: entry(410, 'What was missed is too old to be replayed: load the workspace anew.'),

  idempotency_key_reused: entry(422, 'This Idempotency-Key was used for another request.'),
  conversation_limit_reached: entry(409, 'The workspace has as many conversations as allowed.'),
  workspace_limit_reached: entry(409, 'The user has as many workspaces as allowed.'),
  memory_limit_reached: entry(409, 'The agent has as many memories as allowed.'),
  memory_too_large: entry(413, 'The content of the memory is larger than allowed.'),
  upload_too_large: entry(413, 'The file is larger than allowed.'),
  upload_quota_exceeded: entry(409, 'The user has stored as much as allowed.'),
  export_limit_reached: entry(429, 'The last export of the user is too recent.', true),
  upload_limit_reached: entry(409, 'The user has as many files as allowed.'),
  upload_stalled: entry(408, 'No byte of the file arrived in time.', true),
  malformed_form: entry(400, 'The body is no valid multipart/form-data, or has two parts named file.'),
  upload_file_missing: entry(400, 'The form has no part named file.'),
  upload_link_invalid: entry(403, 'The link is not valid or has expired.'),
  range_not_satisfiable: entry(416, 'The file has no such part.'),
  integration_not_configured: entry(409, 'This provider is not configured.'),
  integration_code_invalid: entry(
    400,
    'The provider does not take the authorization code; start the connection again.',
  ),
  integration_exchange_failed: entry(502, 'The provider refuses this installation; its operator has to look at it.'),
  integration_unavailable: entry(503, 'The provider cannot be reached right now.', true),
  redirect_url_not_allowed: entry(400, 'redirect_url is not one of the configured ones.'),

  turn_queue_full: entry(429, 'Too many replies of this conversation are waiting.', true),
  subscription_limit_reached: entry(429, 'The socket is subscribed to as many workspaces as allowed.'),
  search_timeout: entry(429, 'The search took too long; search for fewer or rarer words.', true),
  rate_limited: entry(429, 'Too many requests.', true),
  sign_up_limit_reached: entry(429, 'The account was deleted and created too often.', true),
  token_limit_reached: entry(429, 'The token limit of the period is reached.'),

  service_unavailable: entry(503, 'A part of the service cannot be reached.', true),
  internal_error: entry(500, 'Something went wrong on our side.', true),
} as const satisfies Record<string, ErrorEntry>;

export type ErrorCode = keyof typeof ERRORS;

export const ErrorCode = z.enum(Object.keys(ERRORS) as [ErrorCode, ...ErrorCode[]]).meta({ id: 'ErrorCode' });

/** spec: orchestrator §7 */
export const ErrorBody = z
  .strictObject({
    message: z.string(),
    code: ErrorCode,
    extra: z
      .object({
        request_id: z.string(),
        fields: z.array(z.strictObject({ path: z.string(), message: z.string() })).optional(),
        retry_after_ms: z.int().nonnegative().optional(),
      })
      .catchall(z.unknown())
      .nullable(),
  })
  .meta({ id: 'Error' });
export type ErrorBody = z.output<typeof ErrorBody>;

export interface ApiErrorOptions {
  /** Replaces the catalogue's sentence. */
  message?: string;
  /** What the caller can act on; `request_id` is added by the handler. */
  extra?: Record<string, unknown>;
  cause?: unknown;
}

/** An error that a client is meant to see. Its status and whether to retry come from the catalogue. */
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

/** Turns zod issues into `extra.fields`: a dotted path and what is wrong there. */
export function validationError(error: z.ZodError): ApiError {
  const fields = error.issues.slice(0, 20).map((issue) => ({ path: issue.path.join('.'), message: issue.message }));
  return new ApiError('validation_failed', { extra: { fields } });
}
