import type { Pagination } from '@uswarm/contract';
import { setTimeout as sleep } from 'node:timers/promises';

export interface RestAnswer {
  status: number;
  body: never;
  /** The header `X-Workspace-Position`. */
  position?: string;
}

const ATTEMPT_MS = 5_000;
/** Longer than any fault. */
const READ_WITHIN_MS = 120_000;
const PAGE = 100;

export interface RestClientOptions {
  urls: readonly string[];
  token: string;
  /** Index of the URL that is tried first. */
  first: number;
  /** Ends all requests. */
  signal?: AbortSignal;
}

/** A REST client that tries another orchestrator if one does not answer. */
export class RestClient {
  private readonly urls: readonly string[];
  private readonly token: string;
  private readonly first: number;
  private readonly signal: AbortSignal | undefined;

  constructor({ urls, token, first, signal }: RestClientOptions) {
    this.urls = urls;
    this.token = token;
    this.first = first;
    this.signal = signal;
  }

  private get signals(): AbortSignal[] {
    return this.signal === undefined ? [] : [this.signal];
  }

  private get until(): { signal?: AbortSignal } {
    return this.signal === undefined ? {} : { signal: this.signal };
  }

  /** One request, at the first orchestrator or, if that fails, at the others. @throws Error if all fail twice */
  async request(method: string, path: string, body?: unknown): Promise<RestAnswer> {
    let failure: unknown;
    for (let attempt = 0; attempt < this.urls.length * 2; attempt += 1) {
      const base = this.urls[(this.first + attempt) % this.urls.length]!;
      try {
        const response = await fetch(`${base}${path}`, {
          method,
          headers: {
            'x-token': this.token,
            ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          },
          ...(body === undefined ? {} : { body: JSON.stringify(body) }),
          signal: AbortSignal.any([AbortSignal.timeout(ATTEMPT_MS), ...this.signals]),
        });
        const text = await response.text();
        if (response.status < 500 && response.status !== 429) {
          const position = response.headers.get('x-workspace-position') ?? undefined;
          return {
            status: response.status,
            body: (text === '' ? undefined : JSON.parse(text)) as never,
            ...(position === undefined ? {} : { position }),
          };
        }
        failure = new Error(`${response.status} ${text}`);
      } catch (error) {
        failure = error;
      }
      await sleep(300, undefined, this.until);
    }
    throw new Error(`${method} ${path} failed`, { cause: failure });
  }

  /** Repeats until a replica answers: a reload must not end because all of them are stopped. @throws Error after two minutes */
  async read(path: string): Promise<RestAnswer> {
    const started = performance.now();
    for (;;) {
      try {
        return await this.request('GET', path);
      } catch (error) {
        if (this.signal?.aborted === true || performance.now() - started > READ_WITHIN_MS) throw error;
        await sleep(500, undefined, this.until);
      }
    }
  }

  async readAll<Item>(path: string): Promise<Item[]> {
    const items: Item[] = [];
    for (let scrollId: string | null = null; ;) {
      const more: string = scrollId === null ? '' : `&scrollId=${encodeURIComponent(scrollId)}`;
      const { status, body } = await this.read(`${path}?limit=${PAGE}${more}`);
      if (status === 404) return items;
      const { data, pagination } = body as { data: Item[]; pagination: Pagination };
      items.push(...data);
      if (pagination.next_scroll_id === null) return items;
      scrollId = pagination.next_scroll_id;
    }
  }
}
