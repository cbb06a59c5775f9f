import { parseJson } from '@uswarm/service-kit';
import { errors, request } from 'undici';
import { callUrl } from './client.js';
import type { Credentials } from './credentials.js';
import { KubeError, type StatusAnswer } from './errors.js';
import type { KubernetesObject } from '@uswarm/kube-types';
import { type Resource, resourcePath } from './resource.js';

/** The stream has a line that is not a watch event. An event may be lost, so a new list is required. */
export class MalformedWatchEvent extends Error {
  override name = 'MalformedWatchEvent';
}

/** No data for longer than a watch lasts: the connection is dead without having been closed. */
export class WatchTimeout extends Error {
  override name = 'WatchTimeout';
}

export interface WatchEvent {
  type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK';
  object: KubernetesObject;
}

export interface WatchOptions {
  namespace?: string | undefined;
  labelSelector?: string | undefined;
  /** The version after which events are requested. */
  resourceVersion: string;
  /** Seconds after which the server ends the watch (`timeoutSeconds`). */
  lastsS: number;
  /** Milliseconds without data after which the connection counts as dead; longer than the watch. */
  silenceMs: number;
  /** Called when the server has accepted the watch. */
  onOpen?: () => void;
}

/** Runs one watch until the server ends it. @throws KubeError, MalformedWatchEvent, WatchTimeout, or a connection error */
export type Watch = (
  resource: Resource,
  options: WatchOptions,
  onEvent: (event: WatchEvent) => void,
  signal: AbortSignal,
) => Promise<void>;

export function createWatch(credentials: Credentials): Watch {
  return async (resource, options, onEvent, signal) => {
    const { namespace, labelSelector, resourceVersion, lastsS, silenceMs, onOpen = () => {} } = options;
    const url = callUrl(credentials.server, {
      path: resourcePath(resource, namespace),
      query: {
        watch: 'true',
        allowWatchBookmarks: 'true',
        timeoutSeconds: `${lastsS}`,
        labelSelector,
        resourceVersion,
      },
    });
    try {
      const { statusCode, body } = await request(url, {
        dispatcher: credentials.dispatcher,
        headers: { accept: 'application/json', ...(await credentials.headers()) },
        headersTimeout: silenceMs,
        bodyTimeout: silenceMs,
        signal,
      });
      if (statusCode !== 200) throw new KubeError(statusCode, (parseJson(await body.text()) ?? {}) as StatusAnswer);
      onOpen();
      for await (const line of lines(body)) onEvent(readEvent(line));
    } catch (error) {
      throw error instanceof errors.BodyTimeoutError || error instanceof errors.HeadersTimeoutError
        ? new WatchTimeout('the watch received no data for too long', { cause: error })
        : error;
    }
  };
}

/** Splits the stream into lines. An incomplete last line is dropped. */
async function* lines(body: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of body) {
    const parts = (rest + decoder.decode(chunk, { stream: true })).split('\n');
    rest = parts.pop() ?? '';
    for (const part of parts) if (part.trim() !== '') yield part;
  }
}

const TYPES: ReadonlySet<unknown> = new Set(['ADDED', 'MODIFIED', 'DELETED', 'BOOKMARK']);

function readEvent(line: string): WatchEvent {
  const event = parseJson(line) as { type?: string; object?: KubernetesObject & StatusAnswer } | undefined;
  if (event?.type === 'ERROR') throw new KubeError(event.object?.code ?? 500, event.object ?? {});
  if (!TYPES.has(event?.type) || typeof event?.object?.metadata?.resourceVersion !== 'string') {
    throw new MalformedWatchEvent('a line of the watch is not an event');
  }
  return event as WatchEvent;
}
