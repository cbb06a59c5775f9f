import { isNotConnected } from '@uswarm/service-kit';
import type { Fetch } from './providers/adapter.js';

/** The requests of one attempt. */
export interface Transport {
  fetch: Fetch;
  readonly requestBody: string;
  /** True if the provider may have counted tokens: it has the request and did not reject it. */
  readonly mayCount: boolean;
  /** True if the request was announced. */
  readonly isAnnounced: boolean;
}

export interface TransportDeps {
  repair: (response: Response) => Promise<Response>;
  /** Changes a request body before it is sent. Default: unchanged. */
  edit?: ((body: Record<string, unknown>) => Record<string, unknown>) | undefined;
  /** Number of earlier attempts. */
  retries: number;
  /** Called with the request body before it is sent. @throws if it must not be sent */
  announce?: ((requestBody: string) => Promise<void>) | undefined;
  fetch?: Fetch | undefined;
}

/** As in the clients of OpenAI and Anthropic; the model gateway counts repeated calls by it. */
const RETRY_COUNT_HEADER = 'x-stainless-retry-count';

export function createTransport(deps: TransportDeps): Transport {
  const { repair, edit, retries, announce, fetch = globalThis.fetch } = deps;
  let requestBody = '';
  let mayCount = false;
  let isAnnounced = false;

  async function send(...[input, init]: Parameters<Fetch>): Promise<Response> {
    const body = typeof init?.body === 'string' ? init.body : '';
    requestBody = edit === undefined ? body : JSON.stringify(edit(JSON.parse(body) as Record<string, unknown>));
    if (announce !== undefined) {
      isAnnounced = true;
      await announce(requestBody);
    }
    mayCount = true;
    // A redirect could send the key to another host. It is a response, so that users read what happened.
    const headers = new Headers(init?.headers);
    headers.set(RETRY_COUNT_HEADER, String(retries));
    const response = await fetch(input, { ...init, body: requestBody, headers, redirect: 'manual' }).catch(
      (error: unknown) => {
        mayCount = !isNotConnected(error);
        throw error;
      },
    );
    mayCount = response.ok;
    if (!response.ok || response.body === null) return response;
    const repaired = await repair(response);
    mayCount = repaired.ok;
    return repaired;
  }

  return {
    fetch: send,
    get requestBody() {
      return requestBody;
    },
    get mayCount() {
      return mayCount;
    },
    get isAnnounced() {
      return isAnnounced;
    },
  };
}
