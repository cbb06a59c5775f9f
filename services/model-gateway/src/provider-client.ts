import type { IncomingHttpHeaders } from 'node:http';
import { Readable } from 'node:stream';
import { isNotConnected } from '@uswarm/service-kit';
import { createOutgoing, type OutgoingProxy } from '@uswarm/service-kit/outgoing';
import type { Dispatcher } from 'undici';
import type { ProviderConfig } from './config.js';
import { GatewayError } from './gateway-error.js';
import { pickHeaders } from './headers.js';
import { openai } from './protocols/openai.js';
import type { Body, Protocol } from './protocols/protocol.js';
import { SMALL_BYTES } from './request-memory.js';

export type ProviderResponse = Pick<Dispatcher.ResponseData, 'statusCode' | 'headers' | 'body'>;

export interface ProviderCall {
  body: Body;
  /** Headers from the client's request. */
  headers: IncomingHttpHeaders;
  signal: AbortSignal;
}

/** For servers with OpenAI's protocol. */
export interface ProviderForm {
  /** The path after the provider's base URL. */
  path: string;
  contentType: string;
  bytes: number;
  body: Readable;
  signal: AbortSignal;
}

export interface ProviderClient {
  /**
   * Sends a call and returns the response with its unread body. Redirects are not followed.
   * @throws GatewayError `provider_unreachable` if the provider has not received the call; `CallCut` otherwise
   */
  send(protocol: Protocol, config: ProviderConfig, call: ProviderCall): Promise<ProviderResponse>;
  /** As `send`, for a body that is read once. @throws also the errors of the body */
  sendForm(config: Pick<ProviderConfig, 'baseUrl' | 'apiKey'>, form: ProviderForm): Promise<ProviderResponse>;
  close(): Promise<void>;
}

/** The connection broke after the call was sent: the provider may have counted it. */
export class CallCut extends Error {
  override name = 'CallCut';
}

const CONNECT_MS = 10_000;
/** A response that is not streamed has its first byte when it is complete. */
const FIRST_BYTE_MS = 600_000;
const BETWEEN_BYTES_MS = 120_000;
const CONNECTIONS_PER_ORIGIN = 512;

export function createProviderClient(proxy: OutgoingProxy): ProviderClient {
  const outgoing = createOutgoing(proxy, {
    connectMs: CONNECT_MS,
    connections: CONNECTIONS_PER_ORIGIN,
    headersTimeout: FIRST_BYTE_MS,
    bodyTimeout: BETWEEN_BYTES_MS,
  });
  async function post(url: string, headers: Record<string, string>, body: Buffer | Readable, signal: AbortSignal) {
    try {
      return await outgoing.request(url, {
        method: 'POST',
        // The usage is read from the response, so it must not be compressed.
        headers: { 'accept-encoding': 'identity', 'user-agent': 'uswarm-model-gateway', ...headers },
        body,
        signal,
      });
    } catch (cause) {
      if (!isNotConnected(cause)) throw new CallCut('the connection to the provider broke', { cause });
      throw new GatewayError('provider_unreachable', 'The model provider cannot be reached.', { cause });
    }
  }
  return {
    async send(protocol, { baseUrl, apiKey }, { body, headers, signal }) {
      const bytes = Buffer.from(JSON.stringify(body));
      const sent = {
        accept: body['stream'] === true ? 'text/event-stream' : 'application/json',
        'content-type': 'application/json',
        'content-length': String(bytes.byteLength),
        ...(apiKey === undefined ? {} : protocol.credentials(apiKey)),
        ...pickHeaders(headers, protocol.requestHeaders),
      };
      const pieces = bytes.byteLength > SMALL_BYTES ? Readable.from(piecesOf(bytes)) : bytes;
      return post(`${baseUrl}${protocol.path}`, sent, pieces, signal);
    },
    async sendForm({ baseUrl, apiKey }, { path, contentType, bytes, body, signal }) {
      const sent = {
        accept: 'application/json',
        'content-type': contentType,
        'content-length': String(bytes),
        ...(apiKey === undefined ? {} : openai.credentials(apiKey)),
      };
      return post(`${baseUrl}${path}`, sent, body, signal);
    },
    close: () => outgoing.destroy(),
  };
}

const PIECE_BYTES = 256 * 1024;

/** The client library keeps a whole body until the response has ended, but not the pieces that it has written. */
function* piecesOf(body: Buffer): Generator<Buffer> {
  let rest = body;
  while (rest.byteLength > PIECE_BYTES) {
    yield rest.subarray(0, PIECE_BYTES);
    rest = rest.subarray(PIECE_BYTES);
  }
  const last = rest;
  rest = Buffer.alloc(0);
  yield last;
}
