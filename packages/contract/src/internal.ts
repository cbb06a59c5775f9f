import { z } from 'zod';
import { ErrorCode } from './errors.js';
import { MessageSend } from './events/client.js';
import { CREDENTIAL_HEADERS, TokenHash } from './events/sessions.js';
import { AgentState, StreamState } from './events/states.js';
import { Epoch, Id, Timestamp } from './resources/primitives.js';
import { TokenAccess } from './token-access.js';

/**
 * The orchestrator's internal API for the realtime gateways and the model gateway. Not part of the public documents.
 */

export const AuthenticateBody = z.object({
  credentials: z.partialRecord(z.enum(CREDENTIAL_HEADERS), z.string().max(16_384)),
  /** The gateway keeps sockets to what their API tokens permit. Earlier releases do not, so they get none. */
  api_tokens: z.literal(true).nullish(),
});
export const AuthenticateAnswer = z.object({
  user_id: Id,
  /** Credential expiry; null if it does not expire. */
  expires_at: Timestamp.nullable(),
  /** Milliseconds until then; the gateway's clock may differ. Absent in release 0.2. */
  expires_in_ms: z.int().nullish(),
  /** Identifies the credential for a logout; null if it cannot be logged out. */
  token_hash: TokenHash.nullable(),
  /** Issue time; null if unknown. Absent in release 0.2. */
  issued_at: Timestamp.nullish(),
  /** Absent or null: the credential is not an API token. */
  access: TokenAccess.nullish(),
});
export type AuthenticateAnswer = z.output<typeof AuthenticateAnswer>;

/**
 * In `extra` of a 401: the calling service's token was refused, not the user credentials that it passes on. Absent in
 * release 0.2.
 */
export const ServiceTokenRefusal = z.object({ service_token: z.enum(['expired', 'invalid']) });
export type ServiceTokenRefusal = z.output<typeof ServiceTokenRefusal>;

const seq = z.int().nonnegative();

export const SubscriptionsBody = z.object({ workspace_ids: z.array(z.string().max(64)).max(1_000) });
export const SubscriptionsAnswer = z.object({
  accepted: z.array(
    z.object({
      workspace_id: Id,
      last_seq: seq,
      // Absent in release 0.2, as the following fields. A later release can add fields to their items.
      epoch: Epoch.optional(),
      /** The agents whose status is not `online`. */
      agents: z.array(z.object(AgentState.shape)).optional(),
      /** The text so far of all replies that agents write. */
      streams: z.array(z.object(StreamState.shape)).optional(),
    }),
  ),
  rejected: z.array(z.object({ workspace_id: z.string(), code: ErrorCode })),
});
export type SubscriptionsAnswer = z.output<typeof SubscriptionsAnswer>;

/** A gateway checks many hubs with one request for their last sequences. */
export const PositionsBody = z.object({ workspace_ids: z.array(Id).max(1_000) });
export const PositionsAnswer = z.object({
  epoch: Epoch,
  /** Deleted workspaces are absent. */
  positions: z.array(z.object({ workspace_id: Id, last_seq: seq })),
});
export type PositionsAnswer = z.output<typeof PositionsAnswer>;

/** Bytes in a page of events. */
export const EVENTS_PAGE_BYTES = 256 * 1024;

/** Reads a page from a workspace's log, in order and without gaps from `after` + 1. */
export const EventsBody = z.object({
  workspace_id: Id,
  after: seq,
  max_bytes: z.int().positive().max(EVENTS_PAGE_BYTES).default(EVENTS_PAGE_BYTES),
});
export const EventsAnswer = z.object({
  epoch: Epoch,
  last_seq: seq,
  /**
   * At least one event if any follows `after`, even if it is larger than `max_bytes`. Compacted: a resource's creation
   * and last change keep their bodies; events for other changes and deleted resources are left out.
   */
  events: z.array(
    z.union([
      z.object({ seq, skip: z.literal(true) }),
      z.object({
        seq,
        event: z.string(),
        subject_id: Id,
        rev: seq.optional(),
        payload: z.record(z.string(), z.unknown()),
      }),
    ]),
  ),
  /** The events after `after` are no longer all stored; `events` is empty. */
  resync: z.literal('too_old').optional(),
});
export type EventsAnswer = z.output<typeof EventsAnswer>;

/** Stores what devices have applied; a device that is up to date gets no notification. */
export const DevicePositionsBody = z.object({
  positions: z
    .array(z.object({ user_id: Id, device_id: z.string().min(1).max(128), workspace_id: Id, seq }))
    .max(1_000),
});

/**
 * Header of a send: the milliseconds from its arrival within which the message must be stored, or must not be stored at
 * all. Errors with the status 5xx have `extra.stored` = `no` if nothing was stored. Release 0.2 knows neither.
 */
export const SEND_DEADLINE_HEADER = 'x-deadline-ms';
export const SendBody = MessageSend;
export const SendAnswer = z.object({ message_id: Id });
export type SendAnswer = z.output<typeof SendAnswer>;

/** Checks sessions periodically, because a revocation message can be lost. */
export const SessionsBody = z.object({
  sessions: z
    .array(z.object({ user_id: Id, token_hash: TokenHash.nullable(), issued_at: Timestamp.nullish() }))
    .max(1_000),
});
export const SessionsAnswer = z.object({
  /** Ended sessions, by their index in the request. */
  ended: z.array(z.int().nonnegative()),
});
export type SessionsAnswer = z.output<typeof SessionsAnswer>;

const tokens = z.int().nonnegative().max(1_000_000_000);

/** Model calls: POST reserves, PUT on `/<id>` settles. */
export const MODEL_CALLS_PATH = '/internal/v1/model-calls';

/** Subject of the model gateway's service token. */
export const MODEL_GATEWAY = 'model-gateway';

/**
 * Reserves a model call's estimated tokens: 201 with `ModelCallTerms`, 402 `token_limit_reached`, 404, or 409
 * `turn_not_running`.
 */
export const ModelCallReservation = z.object({
  id: Id,
  workspace_id: Id,
  turn_id: Id,
  agent_id: Id,
  /**
   * `turn`: the turn must be running. `summary`: a summary or a title, written after the turn. `transcription`: a
   * recording, before or during the turn.
   */
  purpose: z.enum(['turn', 'summary', 'transcription']),
  provider: z.string().min(1).max(256),
  /** The name at the provider. */
  model: z.string().min(1).max(256),
  /** The catalogue's model id, or the provider's name if the gateway knows no id for it. */
  requested_model: z.string().min(1).max(256),
  estimated_prompt_tokens: tokens,
  max_output_tokens: tokens,
});
export type ModelCallReservation = z.output<typeof ModelCallReservation>;

/** The catalogue entry for the called model; null if it has no entry for the model and its provider. */
export const ModelCallTerms = z.object({
  /** Tokens of prompt and output together. */
  context_window: z.int().positive().nullable(),
  /** Micro-units of the currency per million tokens. */
  prices: z.object({ input: tokens, cached_input: tokens, output: tokens }).nullable(),
});
export type ModelCallTerms = z.output<typeof ModelCallTerms>;

/**
 * Code of a 402 response to a reservation if the turn has used its budget, which the user can increase. Other responses
 * 402 mean that a monthly limit is reached.
 */
export const TURN_BUDGET_REACHED = 'turn_budget_reached';

/** Settles a model call with a PUT to its path: 200, or 404 if the call does not exist. */
export const ModelCallUsage = z.object({
  prompt_tokens: tokens,
  completion_tokens: tokens,
  /** Part of `prompt_tokens`. */
  cached_tokens: tokens,
  /** Part of `completion_tokens`. */
  reasoning_tokens: tokens,
  /** Whether the gateway estimated the tokens, because the provider did not report them. */
  estimated: z.boolean(),
  /** `refused`: the provider did not process the call, so that it counts nothing. */
  outcome: z.enum(['completed', 'cut', 'refused']),
});
export type ModelCallUsage = z.output<typeof ModelCallUsage>;

/**
 * The model gateway's route for the orchestrator: a POST with a recording and its media type, 200 with a
 * `Transcription`. Errors have OpenAI's form.
 */
export const TRANSCRIPTIONS_PATH = '/v1/audio/transcriptions';

/** The recording's length in seconds, as the reservation estimates it. */
export const RECORDING_SECONDS_HEADER = 'x-recording-seconds';

/** OpenAI's limit for a recording. */
export const RECORDING_BYTES = 25 * 1024 ** 2;

/** Audio counts as prompt tokens: ten per second, as OpenAI's models that count tokens do. */
export const AUDIO_TOKENS_PER_SECOND = 10;

export const Transcription = z.object({ text: z.string() });
export type Transcription = z.output<typeof Transcription>;

/** A 422 response's code: the provider does not accept the recording, so a repetition would fail as well. */
export const RECORDING_REFUSED = 'recording_refused';

/** A GET with a model gateway token, which reports whether it is accepted. */
export const MODEL_CALLS_TOKEN_PATH = `${MODEL_CALLS_PATH}/service-token`;

/** Internal API paths for realtime gateways; each is a POST with a service token. */
export const INTERNAL_PATHS = {
  authenticate: '/internal/v1/authenticate',
  subscriptions: '/internal/v1/subscriptions',
  send: '/internal/v1/messages',
  sessions: '/internal/v1/sessions',
  positions: '/internal/v1/positions',
  events: '/internal/v1/events',
  devicePositions: '/internal/v1/device-positions',
  /** Reports whether the service token is accepted. Absent in release 0.2. */
  serviceToken: '/internal/v1/service-token',
} as const;
