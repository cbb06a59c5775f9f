import { request, type RequestListener } from 'node:http';

/** Forwards requests to another server. */
export const forwardTo =
  (origin: () => string): RequestListener =>
  (incoming, outgoing) => {
    const { headers, method, url: path } = incoming;
    const forwarded = request(new URL(path ?? '', origin()), { method, headers }, (response) => {
      outgoing.writeHead(response.statusCode ?? 502, response.headers);
      response.pipe(outgoing);
    });
    forwarded.on('error', () => outgoing.destroy());
    incoming.pipe(forwarded);
  };
