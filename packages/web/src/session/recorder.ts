/** A sent REST call, without its token. */
export interface RecordedCall {
  kind: 'call';
  id: number;
  screen: string;
  at: number;
  method: string;
  url: string;
  body: unknown;
  /** 0 without an answer. */
  status: number;
  ms: number | null;
  answer: unknown;
}
export interface RecordedEvent {
  kind: 'event';
  id: number;
  screen: string;
  at: number;
  name: string;
  payload: unknown;
}
export type Recorded = RecordedCall | RecordedEvent;

/** Older entries are dropped. */
const KEPT = 300;
/** Characters of an answer; longer answers are shown without their content. */
const LONGEST = 200_000;

/** Records the page's calls and events for its developer drawer. */
export function createRecorder(
  fetch: typeof globalThis.fetch,
  place = (): string => location.pathname,
  now = (): number => Date.now(),
) {
  const listeners = new Set<() => void>();
  let [entries, count]: [readonly Recorded[], number] = [[], 0];

  function add<Entry extends Recorded>(entry: Omit<Entry, 'id' | 'at' | 'screen'>): number {
    count += 1;
    const whole = { ...entry, id: count, at: now(), screen: place() } as unknown as Recorded;
    show([whole, ...entries].slice(0, KEPT));
    return count;
  }
  function show(next: readonly Recorded[]): void {
    entries = next;
    for (const listener of listeners) listener();
  }
  async function recordedFetch(...[input, init]: Parameters<typeof fetch>): Promise<Response> {
    const [url, method] = [String(input instanceof Request ? input.url : input), init?.method ?? 'GET'];
    const id = add<RecordedCall>({
      kind: 'call',
      method,
      url,
      body: parsed(init?.body),
      status: 0,
      ms: null,
      answer: null,
    });
    const start = now();
    const end = (status: number, answer: unknown): void =>
      show(entries.map((one) => (one.id === id ? { ...one, status, answer, ms: now() - start } : one)));
    try {
      const response = await fetch(input, init);
      const isJson = response.headers.get('content-type')?.includes('json') === true;
      if (!isJson) end(response.status, null);
      else
        void response
          .clone()
          .text()
          .then((text) => end(response.status, text.length > LONGEST ? null : parsed(text)))
          .catch(() => end(response.status, null));
      return response;
    } catch (error) {
      end(0, String(error));
      throw error;
    }
  }
  return {
    fetch: recordedFetch as typeof globalThis.fetch,
    /** For `client.on('*', …)`. */
    event: (payload: unknown, name: string): void => void add<RecordedEvent>({ kind: 'event', name, payload }),
    clear: (): void => show([]),
    getSnapshot: (): readonly Recorded[] => entries,
    subscribe(listener: () => void): () => void {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}
export type Recorder = ReturnType<typeof createRecorder>;

function parsed(body: unknown): unknown {
  if (typeof body !== 'string') return body === undefined || body === null ? null : '(a form with a file)';
  try {
    return JSON.parse(body) as unknown;
  } catch {
    return body;
  }
}
