import type { Response } from 'express';
import { ClientGone } from './errors.js';

/** The signal is aborted if the client closes the connection before it has its response. */
export function clientGone(response: Response): AbortSignal {
  const disconnected = new AbortController();
  response.once('close', () => {
    if (!response.writableFinished) disconnected.abort(new ClientGone());
  });
  return disconnected.signal;
}
