import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { Webhook } from 'standardwebhooks';

export interface ReceivedWebhook {
  /** `webhook-id`. */
  id: string;
  headers: Record<string, string>;
  text: string;
  body: { type: string; timestamp: string; data: Record<string, unknown> };
}

export type ReceiverAnswer =
  | {
      status: number;
      headers?: Record<string, string>;
      body?: string;
      /** The answer waits for it. */
      after?: Promise<unknown>;
    }
  | 'hang'
  | 'cut'
  | 'stall';

/** Receives webhooks as another company's server does. */
export interface WebhookReceiver {
  url: string;
  /** In the order of their arrival. */
  received: ReceivedWebhook[];
  /** For the next requests, one each; the others get 204. */
  answers: ReceiverAnswer[];
  /** @throws WebhookVerificationError unless a signature belongs to the secret */
  verify(request: ReceivedWebhook, secret: string): void;
  close(): Promise<void>;
}

export async function startWebhookReceiver(): Promise<WebhookReceiver> {
  const received: ReceivedWebhook[] = [];
  const answers: ReceiverAnswer[] = [];
  const answer = async (next: ReceiverAnswer, response: ServerResponse): Promise<void> => {
    if (next === 'hang') return;
    if (next === 'cut') return void response.destroy();
    // The response begins, and never ends.
    if (next === 'stall') return void response.writeHead(200).write('on the way');
    await next.after;
    response.writeHead(next.status, next.headers).end(next.body);
  };
  const server = createServer(async (request, response) => {
    const content = await text(request);
    const headers = Object.fromEntries(Object.entries(request.headers).map(([name, value]) => [name, String(value)]));
    const body = JSON.parse(content) as ReceivedWebhook['body'];
    received.push({ id: headers['webhook-id'] ?? '', headers, text: content, body });
    await answer(answers.shift() ?? { status: 204 }, response);
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    received,
    answers,
    verify: (request, secret) => void new Webhook(secret).verify(request.text, request.headers),
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => void server.close(resolve));
    },
  };
}
