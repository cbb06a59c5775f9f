import type { IncomingHttpHeaders } from 'node:http';
import { Readable } from 'node:stream';
import { isNotConnected } from '@uswarm/service-kit';
import { createOutgoing, type OutgoingProxy } from '@uswarm/service-kit/outgoing';
import type { Dispatcher } from 'undici';
import type { ProviderConfig } from './config.js';
import { GatewayError } from './gateway-error.js';
import { pickHeaders } from './headers.js';
import type { Body, Protocol } from './protocols/protocol.js';
import { SMALL_BYTES } from './request-memory.js';

export type ProviderResponse = Pick<Dispatcher.ResponseData, 'statusCode' | 'headers' | 'body'>;

export interface ProviderCall {
  body: Body;
  /** Headers from the client's request. */
  headers: IncomingHttpHeaders;
  signal: AbortSignal;
}

export interface ProviderClient {
  /**
   * Sends a call and returns the response with its unread body. Redirects are not followed.
   * @throws GatewayError `provider_unreachable` if the provider has not received the call; `CallCut` otherwise
   */
  send(protocol: Protocol, config: ProviderConfig, call: ProviderCall): Promise<ProviderResponse>;
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
  return {
    async send(protocol, { baseUrl, apiKey }, { body, headers, signal }) {
      const bytes = Buffer.from(JSON.stringify(body));
      try {
        return await outgoing.request(`${baseUrl}${protocol.path}`, {
          method: 'POST',
          headers: {
            // The usage is read from the response, so it must not be compressed.
            'accept-encoding': 'identity',
            accept: body['stream'] === true ? 'text/event-stream' : 'application/json',
            'content-type': 'application/json',
            'content-length': String(bytes.byteLength),
            'user-agent': 'uswarm-model-gateway',
            ...(apiKey === undefined ? {} : protocol.credentials(apiKey)),
            ...pickHeaders(headers, protocol.requestHeaders),
          },
          body: bytes.byteLength > SMALL_BYTES ? Readable.from(piecesOf(bytes)) : bytes,
          signal,
        });
      } catch (cause) {
        if (!isNotConnected(cause)) throw new CallCut('the connection to the provider broke', { cause });
        throw new GatewayError('provider_unreachable', 'The model provider cannot be reached.', { cause });
      }
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
