import { io } from 'socket.io-client';
import { errorOf, toError, UswarmError, type Fetch } from './api.js';

/** A connection for events. */
export interface Transport {
  /** Adds workspaces. Their events follow their stored positions. */
  subscribe(ids: readonly string[]): void;
  /** Sends an event, if the transport can. */
  emit?(name: string, payload: object): void;
  close(): void;
}
export interface TransportOptions {
  url: string;
  fetch: Fetch;
  headers: Record<string, string>;
  resumeToken: string | undefined;
  /** The present position by workspace id, `epoch:seq`. */
  since(): Record<string, string>;
  onOpen(): void;
  onEvent(name: string, payload: unknown): void;
  onClosed(error: UswarmError): void;
}

export function openSocket({
  url,
  headers,
  resumeToken,
  since,
  onOpen,
  onEvent,
  onClosed,
}: TransportOptions): Transport {
  const socket = io(`${url}/v1`, {
    auth: { ...headers, ...(resumeToken !== undefined && { resume_token: resumeToken }) },
    transports: ['websocket', 'polling'],
    tryAllTransports: true,
    forceNew: true,
    reconnection: false,
  });
  socket.on('connect', onOpen);
  socket.onAny(onEvent);
  // With `data`, it is the final answer to these credentials.
  socket.on('connect_error', (error: Error & { data?: unknown }) =>
    onClosed(error.data ? errorOf(error.data) : toError(error)),
  );
  socket.on('disconnect', (reason) => onClosed(new UswarmError('network_error', reason)));
  return {
    subscribe(ids) {
      const positions = Object.entries(since()).filter(([id]) => ids.includes(id));
      socket.emit('workspace.subscribe', { workspace_ids: ids, since: Object.fromEntries(positions) });
    },
    emit: (name, payload) => void socket.emit(name, payload),
    close: () => void socket.disconnect(),
  };
}

/** The service sends a comment at least every 15 seconds. */
const SILENCE_MS = 40_000;

/** Each subscription is a new response, with all workspaces. */
export function openStream({ url, fetch, since, onOpen, onEvent, onClosed, ...options }: TransportOptions): Transport {
  const resume = options.resumeToken !== undefined && { 'x-resume-token': options.resumeToken };
  const headers = { ...options.headers, ...resume, accept: 'text/event-stream' };
  let [current, wait] = [new AbortController(), 0];

  async function read(controller: AbortController): Promise<void> {
    const query = new URLSearchParams();
    for (const [id, position] of Object.entries(since())) {
      query.append('workspace_id', id);
      query.append('since', `${id}@${position}`);
    }
    let timer: ReturnType<typeof setTimeout> | undefined;
    const alive = (): void => {
      clearTimeout(timer);
      timer = setTimeout(() => controller.abort(), SILENCE_MS);
    };
    try {
      alive();
      const response = await fetch(`${url}/v1/stream?${query}`, { headers, signal: controller.signal });
      const { ok, status, body } = response;
      if (!ok || body === null)
        throw errorOf(await response.json().catch(() => null), status, response.headers.get('retry-after'));
      const [reader, decoder] = [body.getReader(), new TextDecoder()];
      const parse = createParser(
        (name, data) => controller === current && onEvent(name, JSON.parse(data)),
        (ms) => void (wait = ms),
      );
      for (;;) {
        const { done, value } = await reader.read();
        if (done) throw new Error('the stream ended');
        alive();
        parse(decoder.decode(value, { stream: true }));
      }
    } catch (error) {
      const { message } = error as Error;
      const failure =
        error instanceof UswarmError ? error : new UswarmError('network_error', message, 0, { retry_after_ms: wait });
      if (controller === current) onClosed(failure);
    } finally {
      clearTimeout(timer);
    }
  }
  function close(): void {
    current.abort();
    current = new AbortController();
  }

  queueMicrotask(onOpen);
  return { close, subscribe: () => (close(), void read(current)) };
}

/** Parses event stream parts, as browsers do. */
export function createParser(onEvent: (name: string, data: string) => void, onRetry: (ms: number) => void) {
  let [rest, name, data] = ['', '', [] as string[]];
  return (part: string): void => {
    // A carriage return at the end may belong to a line feed that follows.
    const lines = (rest + part).split(/\r\n|\n|\r(?!$)/);
    rest = lines.pop() ?? '';
    for (const line of lines) {
      const [, field, value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
      if (field === 'event') name = value;
      if (field === 'data') data.push(value);
      if (field === 'retry' && /^\d+$/.test(value)) onRetry(Number(value));
      if (line !== '') continue;
      if (data.length > 0) onEvent(name || 'message', data.join('\n'));
      [name, data] = ['', []];
    }
  };
}
