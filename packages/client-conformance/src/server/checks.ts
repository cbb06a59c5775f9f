import { CLIENT_EVENTS, ERRORS, type ErrorCode, SERVER_EVENTS } from '@uswarm/contract';
import { checkResponse, checkServerEvent } from '@uswarm/contract/checks';

/** An event that was checked against the contract: a scripted server must not send what the real one never sends. */
export interface ServerEvent {
  name: string;
  payload: object;
}

/** @throws Error if the contract does not document the event or its payload */
export function serverEvent(name: string, payload: object): ServerEvent {
  // Copied, as on the wire: later state changes do not change what was sent.
  const sent = structuredClone(payload);
  checkServerEvent(name, sent);
  return { name, payload: sent };
}

/**
 * Simulates a later release: `change` may add fields to an event, and set open enums to unknown strings. The rest must
 * match the contract.
 *
 * @throws Error if the change does more
 */
export function laterEvent({ name, payload }: ServerEvent, change: (payload: never) => void): ServerEvent {
  const changed = structuredClone(payload);
  change(changed as never);
  requireExtension(payload, changed, name);
  return { name, payload: changed };
}

/** An event that this release does not have. @throws Error if it has */
export function unknownEvent(name: string, payload: object): ServerEvent {
  if (Object.hasOwn(SERVER_EVENTS, name)) throw new Error(`The event ${name} is documented`);
  return { name, payload };
}

/** Fields with `x-extensible-enum`, to which a later release can add values. */
const OPEN_LISTS: ReadonlySet<string> = new Set(['type', 'status', 'extended_status', 'role', 'code']);

function requireExtension(base: unknown, changed: unknown, path: string): void {
  if (typeof base !== 'object' || base === null) {
    const isOpen = OPEN_LISTS.has(path.split('.').at(-1) ?? '') && typeof changed === 'string';
    if (base !== changed && !isOpen) throw new Error(`A later release does not change ${path}`);
    return;
  }
  for (const [key, value] of Object.entries(base)) {
    requireExtension(value, (changed as Record<string, unknown> | undefined)?.[key], `${path}.${key}`);
  }
}

export interface RestAnswer {
  status: number;
  body: unknown;
  headers?: Record<string, string>;
}

/** @throws Error if the contract does not document the response */
export function checkedAnswer(method: string, path: string, answer: RestAnswer): RestAnswer {
  checkResponse({ method, path, status: answer.status, body: answer.body });
  return answer;
}

export interface Failure {
  code: ErrorCode;
  retryAfterMs?: number;
  /** Sent in place of `code`, as a later release could. It must be unknown. */
  laterCode?: string;
}

/** The error body of REST responses and refused connections. */
export function errorBody({ code, retryAfterMs }: Failure) {
  const extra = { request_id: 'conformance', ...(retryAfterMs !== undefined && { retry_after_ms: retryAfterMs }) };
  return { message: ERRORS[code].message, code, extra };
}

export function failureAnswer(failure: Failure): RestAnswer {
  const headers =
    failure.retryAfterMs === undefined ? {} : { 'retry-after': String(Math.ceil(failure.retryAfterMs / 1_000)) };
  return { status: ERRORS[failure.code].status, body: errorBody(failure), headers };
}

/** @returns the body with the code from a later release. @throws Error if this release knows the code */
export function withLaterCode<Body extends { code: string }>(body: Body, laterCode: string | undefined): Body {
  if (laterCode === undefined) return body;
  if (Object.hasOwn(ERRORS, laterCode)) throw new Error(`The error code ${laterCode} is documented`);
  return { ...body, code: laterCode };
}

/** @returns the violation in a client event; undefined if the contract allows it */
export function clientEventProblem(name: string, payload: unknown): string | undefined {
  if (!Object.hasOwn(CLIENT_EVENTS, name)) return `The client sent the event ${name}, which does not exist`;
  const parsed = CLIENT_EVENTS[name as keyof typeof CLIENT_EVENTS].payload.safeParse(payload);
  if (parsed.success) return undefined;
  return `The client sent an invalid ${name}: ${parsed.error.message}`;
}
