import { parseJson } from '@uswarm/service-kit';
import { createParser } from 'eventsource-parser';

type Rewrite = (message: unknown) => unknown;

function rewriteText(text: string, rewrite: Rewrite): string {
  const message = parseJson(text);
  return message === undefined ? text : JSON.stringify(rewrite(message));
}

function document(rewrite: Rewrite): TransformStream<string, string> {
  let text = '';
  return new TransformStream({
    transform: (chunk) => void (text += chunk),
    flush: (controller) => controller.enqueue(rewriteText(text, rewrite)),
  });
}

function eventStream(rewrite: Rewrite): TransformStream<string, string> {
  let send: (text: string) => void = () => undefined;
  const parser = createParser({
    onEvent({ id, event, data }) {
      const lines = rewriteText(data, rewrite)
        .split('\n')
        .map((line) => `data: ${line}`);
      if (event !== undefined) lines.unshift(`event: ${event}`);
      if (id !== undefined) lines.unshift(`id: ${id}`);
      send(`${lines.join('\n')}\n\n`);
    },
    onRetry: (ms) => send(`retry: ${ms}\n`),
  });
  return new TransformStream({
    start: (controller) => void (send = (text) => controller.enqueue(text)),
    transform: (chunk) => parser.feed(chunk),
  });
}

/** A response with rewritten messages. Other bodies than JSON and event streams pass unchanged. */
export function rewriteResponse(response: Response, rewrite: Rewrite): Response {
  const { body, status, statusText, headers } = response;
  const type = headers.get('content-type')?.split(';')[0]?.trim().toLowerCase();
  if (body === null || (type !== 'application/json' && type !== 'text/event-stream')) return response;
  const rewritten = body
    .pipeThrough(new TextDecoderStream())
    .pipeThrough(type === 'text/event-stream' ? eventStream(rewrite) : document(rewrite))
    .pipeThrough(new TextEncoderStream());
  return new Response(rewritten, { status, statusText, headers });
}
