import type { Response } from 'express';

/** Server-sent events with JSON. */
export interface EventStream {
  send(value: object, event?: string): void;
  /** @param last the data of a last event */
  end(last?: string): void;
}

/** Proxies end a response after a minute without a byte, some of them earlier. */
const KEEP_ALIVE_MS = 15_000;

export function openEventStream(response: Response): EventStream {
  response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8', 'x-accel-buffering': 'no' });
  const keepAlive = setInterval(() => response.write(':\n\n'), KEEP_ALIVE_MS);
  response.once('close', () => clearInterval(keepAlive));
  return {
    send(value, event) {
      response.write(`${event === undefined ? '' : `event: ${event}\n`}data: ${JSON.stringify(value)}\n\n`);
    },
    end: (last) => void response.end(last === undefined ? '' : `data: ${last}\n\n`),
  };
}
