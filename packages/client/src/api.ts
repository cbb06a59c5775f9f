import { FINAL_CODES, RETRYABLE_CODES, SESSION_CODES, type Attachment, type Routes } from './gen/types.js';

/**
 * A failure with a code from the error catalogue, or one of the client: `network_error`, `invalid_response`,
 * `cancelled`.
 */
export class UswarmError extends Error {
  override name = 'UswarmError';
  readonly code: string;
  readonly status: number;
  readonly extra: Record<string, unknown>;
  readonly retryable: boolean;
  readonly retry_after_ms: number | undefined;
  readonly request_id: string | undefined;

  constructor(code: string, message: string = code, status = 0, extra: Record<string, unknown> | null = null) {
    super(message);
    [this.code, this.status, this.extra] = [code, status, extra ?? {}];
    // Unknown codes are judged by their status.
    const isTransient = code === 'network_error' || status === 408 || status === 429 || status >= 500;
    this.retryable = RETRYABLE_CODES.includes(code) || (isTransient && !FINAL_CODES.includes(code));
    this.retry_after_ms = this.extra['retry_after_ms'] as number | undefined;
    this.request_id = this.extra['request_id'] as string | undefined;
  }
}

/** From an API error body. */
export function errorOf(body: unknown, status = 0, retryAfter: string | null = null): UswarmError {
  const { code = 'invalid_response', message, extra } = (body ?? {}) as Partial<UswarmError>;
  const wait = Number(retryAfter) > 0 && { retry_after_ms: Number(retryAfter) * 1_000 };
  return new UswarmError(code, message, status, { ...wait, ...extra });
}
export const toError = (error: unknown): UswarmError =>
  error instanceof UswarmError ? error : new UswarmError('network_error', (error as Error)?.message);

/** True if a new token may be accepted. */
export const refusesToken = ({ code }: UswarmError): boolean =>
  SESSION_CODES.includes(code) && code.startsWith('token_');

/** Milliseconds until the next attempt, with full jitter. */
export const backOff = (attempt: number, atLeast = 0): number =>
  Math.max(atLeast, Math.random() * Math.min(30_000, 500 * 2 ** attempt));

/** @param signal ends it early */
export const delay = (ms: number, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    function end(): void {
      clearTimeout(timer);
      // A signal that lives as long as the client does not keep the waits that are over.
      signal?.removeEventListener('abort', end);
      resolve();
    }
    const timer = setTimeout(end, ms);
    signal?.addEventListener('abort', end);
  });

/** Also for React Native, and for pages that are not secure contexts. */
export const newId = (): string =>
  globalThis.crypto?.randomUUID?.() ??
  'xxxxxxxx-xxxx-4xxx-8xxx-xxxxxxxxxxxx'.replace(/x/g, () => Math.random().toString(16)[2] ?? '0');

/** `idempotencyKey` lets a request that creates something be repeated, if its route has the header `Idempotency-Key`. */
export type CallOptions = { signal?: AbortSignal; idempotencyKey?: string };
type Input<Route> = Omit<Route, 'result'> & CallOptions;
type Call<All> = <Path extends keyof All>(
  path: Path,
  ...input: object extends Omit<All[Path], 'result'> ? [Input<All[Path]>?] : [Input<All[Path]>]
) => Promise<All[Path] extends { result: infer Result } ? Result : never>;
/** A call for each route, with the contract types. Rejects with a `UswarmError`. */
export type Api = { [Verb in keyof Routes]: Call<Routes[Verb]> };
/** A file as `FormData` takes it: a `File` or `Blob`, in React Native an object with its `uri`. */
export type Uploadable = (Blob & { name?: string }) | { uri: string; name: string; type: string };
export type Fetch = typeof globalThis.fetch;
/** @param refresh whether the last token was refused */
export type Headers = (refresh: boolean) => Promise<Record<string, string>>;
type Request = CallOptions & { path?: object; query?: object; body?: unknown; fetch?: Fetch; retries?: number };

/** Reads that may lack what the client has not seen: a standby answers them. */
const SEEN_ROUTES = /\/conversations\/\{id\}\/messages(\/search)?$/;
export type Seen = ReturnType<typeof createSeen>;
/** The highest position that the client has seen in each workspace, in answers and events. Another epoch replaces it. */
export function createSeen() {
  const all = new Map<string, { epoch: string; seq: number }>();
  return {
    add(w: string, epoch: string, seq: number): void {
      const known = all.get(w);
      if (known?.epoch !== epoch || known.seq < seq) all.set(w, { epoch, seq });
    },
    /** A change without a position: the next read must not come from a standby. */
    changed(w: string, rev?: number): void {
      const known = all.get(w);
      if (known && rev !== undefined) this.add(w, known.epoch, rev);
      else all.delete(w);
    },
    of(w: string): string | undefined {
      const known = all.get(w);
      return known && `${known.epoch}:${known.seq}`;
    },
  };
}

/** Longer waits are left to the app. */
const [TIMEOUT_MS, LONGEST_WAIT_MS] = [60_000, 30_000];

export type Http = ReturnType<typeof createHttp>;
export function createHttp(url: string, fetch: Fetch, credentials: Headers, closing: AbortSignal, seen: Seen) {
  async function once(method: string, path: string, request: Request, refresh: boolean) {
    const { body, query = {}, idempotencyKey: key, signal } = request;
    const names = (request.path ?? {}) as Record<string, string>;
    const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => encodeURIComponent(names[name] ?? ''));
    const given = Object.entries(query).filter(([, value]) => value !== undefined) as [string, string][];
    const isForm = body instanceof FormData;
    const type = body !== undefined && !isForm && { 'content-type': 'application/json' };
    const w = names['workspaceId'] ?? (path === '/v1/workspaces/{id}' ? names['id'] : undefined) ?? '';
    const position = method === 'get' && SEEN_ROUTES.test(path) ? seen.of(w) : undefined;
    const headers = {
      ...(await credentials(refresh)),
      ...type,
      ...(key !== undefined && { 'idempotency-key': key }),
      ...(position !== undefined && { 'x-workspace-position': position }),
    };
    const ending = new AbortController();
    const end = (): void => ending.abort();
    const timer = setTimeout(end, TIMEOUT_MS);
    signal?.addEventListener('abort', end);
    try {
      const response = await (request.fetch ?? fetch)(
        `${url}${filled}?${new URLSearchParams(given)}`.replace(/\?$/, ''),
        {
          method: method.toUpperCase(),
          headers,
          ...(body !== undefined && { body: isForm ? body : JSON.stringify(body) }),
          signal: ending.signal,
        },
      );
      const isJson = response.headers.get('content-type')?.includes('json');
      const content: unknown = await (response.status === 204 ? undefined : isJson ? response.json() : response.blob());
      if (!response.ok) throw errorOf(isJson ? content : null, response.status, response.headers.get('retry-after'));
      const at = response.headers.get('x-workspace-position');
      const [epoch = '', seq] = at?.split(':') ?? [];
      if (at !== null) seen.add(w, epoch, Number(seq));
      else if (method !== 'get') seen.changed(w, (content as { data?: { rev?: number } } | undefined)?.data?.rev);
      return { body: content, position: at };
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
    }
  }
  /** Repeats what fails for a time, if that is safe. */
  async function send(method: string, path: string, request: Request = {}) {
    const isSafe = method === 'get' || request.idempotencyKey !== undefined;
    for (let attempt = 0, refresh = false; ; attempt += 1) {
      try {
        return await once(method, path, request, refresh);
      } catch (cause) {
        if (closing.aborted || request.signal?.aborted) throw new UswarmError('cancelled');
        const error = toError(cause);
        const wait = backOff(attempt, error.retry_after_ms);
        const mayRepeat = error.retryable && (isSafe || error.status === 429) && attempt < (request.retries ?? 3);
        if (!refresh && refusesToken(error)) refresh = true;
        else if (mayRepeat && wait < LONGEST_WAIT_MS) await delay(wait, closing);
        else throw error;
      }
    }
  }
  const call = (method: string) => async (path: string, request?: Request) => (await send(method, path, request)).body;
  const api = { get: call('get'), post: call('post'), patch: call('patch'), delete: call('delete') } as unknown as Api;
  /** @param options.onProgress called with the sent share of the file, from 0 to 1, where the platform reports it */
  async function upload(file: Uploadable, options: CallOptions & { onProgress?: (part: number) => void } = {}) {
    const { XMLHttpRequest: Request } = globalThis as { XMLHttpRequest?: new () => Xhr };
    const { onProgress, ...request } = { idempotencyKey: newId(), ...options };
    const body = new FormData();
    if ('uri' in file) body.append('file', file as unknown as Blob);
    else body.append('file', file, file.name ?? 'file');
    const sending = Request && onProgress && { fetch: progressFetch(new Request(), onProgress) };
    return ((await call('post')('/v1/uploads', { ...request, ...sending, body })) as { data: Attachment }).data;
  }
  return { api, send, upload };
}

type Method = (...given: unknown[]) => void;
type Xhr = EventTarget & Record<'open' | 'setRequestHeader' | 'send' | 'abort', Method> & XhrState;
type XhrState = { upload: EventTarget; status: number; responseText: string };
/** `fetch` does not report progress. XMLHttpRequest does, in browsers and React Native. */
function progressFetch(xhr: Xhr, onProgress: (part: number) => void): Fetch {
  return (url, { headers, body, signal } = {}) =>
    new Promise((resolve, reject) => {
      xhr.open('POST', url);
      for (const [name, value] of Object.entries(headers ?? {})) xhr.setRequestHeader(name, value);
      xhr.upload.addEventListener('progress', (event) => {
        const { loaded, total } = event as Event & { loaded: number; total: number };
        onProgress(loaded / total);
      });
      xhr.addEventListener('loadend', () => {
        const init = { status: xhr.status, headers: { 'content-type': 'application/json' } };
        if (xhr.status === 0) reject(new UswarmError('network_error'));
        else resolve(new Response(xhr.responseText || null, init));
      });
      signal?.addEventListener('abort', () => xhr.abort());
      xhr.send(body);
    });
}
