import type { IncomingMessage, Server } from 'node:http';

/**
 * Puts a handler before a server's present listeners, which get the rest.
 *
 * @param handle returns whether it handles the event
 */
export function intercept<Rest extends unknown[]>(
  server: Pick<Server, 'listeners' | 'removeAllListeners' | 'on'>,
  event: 'request' | 'upgrade',
  handle: (request: IncomingMessage, ...rest: Rest) => boolean,
): void {
  const listeners = server.listeners(event);
  server.removeAllListeners(event);
  server.on(event, (request: IncomingMessage, ...rest: unknown[]) => {
    if (handle(request, ...(rest as Rest))) return;
    for (const listener of listeners) listener.call(server, request, ...rest);
  });
}
