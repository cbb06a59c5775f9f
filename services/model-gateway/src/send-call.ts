import { Readable } from 'node:stream';
import { isOutOfCredit, isPromptFlagged } from '@uswarm/service-kit';
import type { ProviderConfig } from './config.js';
import { GatewayError } from './gateway-error.js';
import type { ProviderCall, ProviderClient, ProviderResponse } from './provider-client.js';
import type { ForwardedCall, Protocol } from './protocols/protocol.js';

/** Statuses for a parameter that a server does not know. */
const REFUSALS: ReadonlySet<number> = new Set([400, 422]);
/** Bytes of an error response that are read to find the refused part. */
const MAX_ERROR_BYTES = 64 * 1024;

/** A response whose body can also be a part that was read before. */
export type SentResponse = Pick<ProviderResponse, 'statusCode' | 'headers'> & { body: Readable };

export type SendCall = (
  protocol: Protocol,
  config: ProviderConfig,
  call: ProviderCall & ForwardedCall,
) => Promise<SentResponse>;

/**
 * Sends calls with the request for usage. A server that refuses it gets the call again without it, and all later calls
 * without it; their usage is then estimated.
 */
export function createSendCall(provider: Pick<ProviderClient, 'send'>): SendCall {
  const withoutUsage = new Set<string>();

  return async (protocol, config, call) => {
    const { baseUrl } = config;
    const prepare = (askForUsage: boolean) => protocol.prepare(call.body, call, { baseUrl, askForUsage });
    const { body, asksForUsage } = prepare(!withoutUsage.has(baseUrl));
    const response = await provider.send(protocol, config, { ...call, body });
    if (!asksForUsage || !REFUSALS.has(response.statusCode)) return accepted(response);
    const text = await readStart(response.body);
    if (!/stream_options|include_usage/.test(text)) return { ...response, body: Readable.from([Buffer.from(text)]) };
    const repeated = await provider.send(protocol, config, { ...call, body: prepare(false).body });
    // A server that refuses this call, too, may only quote what the client sent.
    if (repeated.statusCode < 300) withoutUsage.add(baseUrl);
    return accepted(repeated);
  };
}

/** @throws GatewayError for responses that would show the client something about the platform's account */
export async function accepted({ statusCode, headers, body }: ProviderResponse): Promise<SentResponse> {
  const refuse = (error: GatewayError): never => {
    body.on('error', () => undefined).destroy();
    throw error;
  };
  if (statusCode >= 300 && statusCode < 400) {
    refuse(new GatewayError('provider_redirected', 'The model provider returned a redirect, which is not followed.'));
  }
  if (statusCode === 401 || statusCode === 403) {
    const text = await readStart(body).catch(() => '');
    if (statusCode === 403 && isPromptFlagged(text)) {
      refuse(new GatewayError('content_filter', 'The model provider refused the content of the request.'));
    }
    if (isOutOfCredit(statusCode, text.toLowerCase())) {
      refuse(new GatewayError('provider_credit_exhausted', 'The account of the model provider has no credit left.'));
    }
    refuse(new GatewayError('provider_credentials_rejected', 'The model provider rejected the key of this service.'));
  }
  return { statusCode, headers, body };
}

async function readStart(body: Readable): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    size += chunk.byteLength;
    if (size > MAX_ERROR_BYTES) break;
  }
  return Buffer.concat(chunks).toString('utf8');
}
