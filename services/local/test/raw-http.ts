import { once } from 'node:events';
import { type IncomingMessage, request } from 'node:http';

export interface RawAnswer {
  status: number;
  /** True if the connection became a WebSocket. */
  upgraded: boolean;
}

/** A request with headers that `fetch` does not allow, such as `Host`. */
export async function rawRequest(url: string, headers: Record<string, string>): Promise<RawAnswer> {
  const sent = request(url, { headers, agent: false });
  const answered = once(sent, 'response').then(([response]) => ({
    response: response as IncomingMessage,
    upgraded: false,
  }));
  const upgraded = once(sent, 'upgrade').then(([response]) => ({
    response: response as IncomingMessage,
    upgraded: true,
  }));
  sent.end();
  const first = await Promise.any([answered, upgraded]);
  sent.destroy();
  return { status: first.response.statusCode ?? 0, upgraded: first.upgraded };
}

/** Headers for a WebSocket upgrade. */
export const UPGRADE = {
  connection: 'Upgrade',
  upgrade: 'websocket',
  'sec-websocket-version': '13',
  'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
};
